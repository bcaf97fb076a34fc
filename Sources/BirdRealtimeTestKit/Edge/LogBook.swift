internal import Synchronization

/// Where the log is written and waited for. A waiter's condition runs in its own task, never under the lock.
final class LogBook: Sendable {
    private let content = Mutex(LoopbackEdge.Log())
    private let signal = ChangeSignal()
    private let limit: Int

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    var log: LoopbackEdge.Log { content.withLock { $0 } }

    func write(_ entry: LoopbackEdge.Entry) {
        content.withLock { log in
            // A quarter goes at once: dropping one by one would move the whole array each time.
            if log.entries.count >= limit {
                let count = max(1, limit / 4)
                log.entries.removeFirst(count)
                log.droppedEntries += count
            }
            log.entries.append(entry)
        }
        signal.raise()
    }

    /// Ends every wait, and those to come that are not met at once.
    func close() {
        signal.fail(with: LoopbackEdge.WaitError.stopped)
    }

    /// A stopped edge that starts again goes on in the same log.
    func reopen() {
        signal.fail(with: nil)
    }

    /// Returns what `search` finds, as soon as it finds something.
    func first<Result>(_ search: (LoopbackEdge.Log) throws -> Result?) async throws -> Result {
        while true {
            let version = signal.version
            if let result = try search(log) { return result }
            try await signal.wait(after: version)
        }
    }
}
