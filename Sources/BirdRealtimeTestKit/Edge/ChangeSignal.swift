internal import Synchronization

/// Wakes who waits for something to change. Read ``version``, look at the state, and wait for a later version: a change
/// that is made between the two is not missed, because whoever makes it raises the version afterwards.
final class ChangeSignal: Sendable {
    private struct State {
        var version = 0
        var failure: (any Error)?
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
        var nextWaiter = 0
    }

    private let state = Mutex(State())

    var version: Int { state.withLock { $0.version } }

    func raise() {
        let waiters = state.withLock { state in
            state.version += 1
            return exchange(&state.waiters, with: [:])
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Ends every wait, and those to come; nil lets waits be again.
    func fail(with error: (any Error)?) {
        let waiters = state.withLock { state in
            state.failure = error
            return error == nil ? [:] : exchange(&state.waiters, with: [:])
        }
        if let error { for waiter in waiters.values { waiter.resume(throwing: error) } }
    }

    func wait(after version: Int) async throws {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if state.version != version { return .success(()) }
                    if let failure = state.failure { return .failure(failure) }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiters[number] = continuation
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            // The flag is set before this runs, and is read above under the same lock: one of both ends the wait.
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(throwing: CancellationError())
        }
    }
}

/// Runs a wait and ends it with an error when it takes too long.
func withLimit<Result: Sendable>(
    _ limit: Duration, otherwise error: @escaping @Sendable () -> any Error,
    _ body: @Sendable () async throws -> Result
) async throws -> Result {
    try await withoutActuallyEscaping(body) { body in
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: limit)
                throw error()
            }
            defer { group.cancelAll() }
            guard let result = try await group.next() else { throw CancellationError() }
            return result
        }
    }
}
