internal import Synchronization

/// Where the log is written and waited for. A waiter's condition runs in its own task, never under the lock.
final class LogBook: Sendable {
    private struct State {
        var log = LoopbackEdge.Log()
        var written = 0
        var isClosed = false
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
        var nextWaiter = 0
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    var log: LoopbackEdge.Log { state.withLock { $0.log } }

    func write(_ entry: LoopbackEdge.Entry) {
        let waiters = state.withLock { state in
            state.written += 1
            // A quarter goes at once: dropping one by one would move the whole array each time.
            if state.log.entries.count >= limit {
                let count = max(1, limit / 4)
                state.log.entries.removeFirst(count)
                state.log.droppedEntries += count
            }
            state.log.entries.append(entry)
            return exchange(&state.waiters, with: [:])
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Ends every wait, and those to come that are not met at once.
    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            return exchange(&state.waiters, with: [:])
        }
        for waiter in waiters.values { waiter.resume(throwing: LoopbackEdge.WaitError.stopped) }
    }

    /// A stopped edge that starts again goes on in the same log.
    func reopen() {
        state.withLock { $0.isClosed = false }
    }

    /// Returns what `condition` finds, as soon as it finds something.
    func first<Result>(_ condition: (LoopbackEdge.Log) throws -> Result?) async throws -> Result {
        while true {
            let (log, written) = state.withLock { ($0.log, $0.written) }
            if let result = try condition(log) { return result }
            try await change(after: written)
        }
    }

    private func change(after written: Int) async throws {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if state.written != written { return .success(()) }
                    if state.isClosed { return .failure(LoopbackEdge.WaitError.stopped) }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiters[number] = continuation
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            // The flag is set before this runs, and is read above under the same lock: one of both ends the wait.
            state.withLock { $0.waiters.removeValue(forKey: number) }?
                .resume(throwing: CancellationError())
        }
    }
}
