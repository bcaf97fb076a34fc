public import BirdRealtime
internal import Synchronization
internal import SystemIO

/// A clock that moves when it is told to, so that a test goes through minutes of silence and of waiting to reconnect in
/// milliseconds. Give it to a client's `options.clock`.
///
/// ```swift
/// let clock = ManualClock()
/// var options = edge.options()
/// options.clock = clock
/// let client = BirdRealtime(options: options)
/// client.onConnectingIn { seconds in clock.advance(by: .seconds(seconds)) }
/// try await edge.waitFor { $0.upgradedConnections == 1 }
/// await edge.inject(.reset)
/// try await edge.waitFor { $0.upgradedConnections == 2 }
/// ```
///
/// A client arms its timers on its own thread, a moment after what caused them. So move the clock when the client has
/// told what it waits for, as above, or wait for the timer that is meant with ``waitForTimers(timeout:_:)``. All members
/// may be called from any thread.
public final class ManualClock: RealtimeClock {
    private struct Timer {
        var deadline: Duration
        var body: @Sendable () -> Void
    }

    private struct State {
        var now: Duration
        /// By number, which grows: equal deadlines keep their order.
        var timers: [Int: Timer] = [:]
        var nextNumber = 0
    }

    private let state: Mutex<State>
    private let signal = ChangeSignal()

    /// A clock that stands still.
    public init(now: Duration = .zero) {
        state = Mutex(State(now: now))
    }

    /// The time since the clock's origin.
    public var now: Duration { state.withLock { $0.now } }

    /// The moments of the timers that are pending, the earliest first.
    public var pendingDeadlines: [Duration] {
        state.withLock { $0.timers.values.map(\.deadline).sorted() }
    }

    /// Runs `body` when the clock has been moved to `deadline`; soon, on another thread, when it is there already.
    public func schedule(at deadline: Duration, _ body: @escaping @Sendable () -> Void) -> RealtimeTimer {
        let (number, isDue) = state.withLock { state in
            state.nextNumber += 1
            state.timers[state.nextNumber] = Timer(deadline: deadline, body: body)
            return (state.nextNumber, deadline <= state.now)
        }
        signal.raise()
        if isDue { EdgeServer.loop.submit { [weak self] in self?.advance(by: .zero) } }
        return RealtimeTimer { [weak self] in self?.cancel(number) }
    }

    /// Moves the clock on and runs the timers that become due, in order and on this thread, each with the clock at its
    /// moment. Timers that these arm within the time that is left run too.
    public func advance(by duration: Duration) {
        let target = now + max(duration, .zero)
        var isDone = false
        while !isDone {
            while let body = popTimer(dueBy: target) { body() }
            // Another thread may have armed a timer since the last look: the clock moves only past what has been run.
            isDone = state.withLock { state in
                guard !state.timers.values.contains(where: { $0.deadline <= target }) else { return false }
                state.now = max(state.now, target)
                return true
            }
        }
    }

    /// Waits until a timer is pending, moves the clock to the earliest one, runs what is due then, and returns by how much
    /// the clock moved.
    ///
    /// Throws ``WaitError/timedOut`` when no timer is armed within `timeout` of real time, and `CancellationError`.
    @discardableResult
    public func advanceToNextTimer(timeout: Duration = .seconds(60)) async throws -> Duration {
        try await waitForTimers(timeout: timeout) { !$0.isEmpty }
        let step = max(.zero, (pendingDeadlines.first ?? .zero) - now)
        advance(by: step)
        return step
    }

    /// Waits until the pending deadlines, the earliest first, satisfy a condition, which is asked again whenever a timer
    /// is armed, cancelled or run. Throws like ``advanceToNextTimer(timeout:)``.
    public func waitForTimers(
        timeout: Duration = .seconds(60), _ condition: @Sendable ([Duration]) -> Bool
    ) async throws {
        try await withLimit(timeout, otherwise: { WaitError.timedOut }) {
            while true {
                let version = self.signal.version
                if condition(self.pendingDeadlines) { return }
                try await self.signal.wait(after: version)
            }
        }
    }

    /// Why a wait ended without what it waited for.
    public enum WaitError: Error, Sendable, Hashable {
        /// It took too long, in real time.
        case timedOut
    }

    private func cancel(_ number: Int) {
        let timer = state.withLock { $0.timers.removeValue(forKey: number) }
        _ = timer  // let go outside of the lock: what the body holds may cancel other timers
        signal.raise()
    }

    private func popTimer(dueBy target: Duration) -> (@Sendable () -> Void)? {
        let timer = state.withLock { state -> Timer? in
            let due = state.timers.filter { $0.value.deadline <= target }
            guard let next = due.min(by: { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }) else {
                return nil
            }
            state.now = max(state.now, next.value.deadline)
            return state.timers.removeValue(forKey: next.key)
        }
        if timer != nil { signal.raise() }
        return timer?.body
    }
}
