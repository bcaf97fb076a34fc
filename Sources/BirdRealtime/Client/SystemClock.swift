import Synchronization
import SystemIO

/// The clock of the machine, which counts time spent suspended, with its timers on the thread that reads the sockets.
struct SystemClock: RealtimeClock {
    static let shared = SystemClock()

    /// A timer of the loop; both sides of it live on the loop's thread.
    private final class Entry: Sendable {
        private enum State { case waiting, scheduled(TimerID), over }
        private let state = Mutex(State.waiting)

        func start(at deadline: BootInstant, _ body: @escaping @Sendable () -> Void) {
            // The loop never runs a timer inside `schedule`.
            state.withLock { state in
                guard case .waiting = state else { return }
                state = .scheduled(
                    EventLoop.shared.schedule(at: deadline) {
                        self.end()
                        body()
                    })
            }
        }

        func cancel() {
            let id = end()
            if let id { EventLoop.shared.cancel(id) }
        }

        @discardableResult
        private func end() -> TimerID? {
            state.withLock { state in
                defer { state = .over }
                if case .scheduled(let id) = state { return id }
                return nil
            }
        }
    }

    var now: Duration { Duration.nanoseconds(BootInstant.now.nanoseconds) }

    func schedule(at deadline: Duration, _ body: @escaping @Sendable () -> Void) -> RealtimeTimer {
        let entry = Entry()
        let instant = BootInstant(nanoseconds: 0).advanced(by: deadline)
        EventLoop.shared.submit { entry.start(at: instant, body) }
        return RealtimeTimer { EventLoop.shared.submit { entry.cancel() } }
    }
}
