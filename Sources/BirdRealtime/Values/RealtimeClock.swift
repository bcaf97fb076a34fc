/// The clock and timers a client runs on. The default counts time spent suspended, so that a machine that slept
/// finds a dead connection at once; tests put a clock of their own here.
public protocol RealtimeClock: Sendable {
    /// The time since an origin of the clock's choice. It never goes back.
    var now: Duration { get }

    /// Runs `body` once, on any thread, as soon as ``now`` has reached `deadline`. Never runs it inside this call.
    func schedule(at deadline: Duration, _ body: @escaping @Sendable () -> Void) -> RealtimeTimer
}

/// A scheduled call of a ``RealtimeClock``.
public struct RealtimeTimer: Sendable {
    private let action: @Sendable () -> Void

    /// A timer that `action` cancels. `action` may be called more than once and after the timer fired.
    public init(cancel action: @escaping @Sendable () -> Void) {
        self.action = action
    }

    /// Cancels the call, if it has not begun.
    public func cancel() {
        action()
    }
}
