import Synchronization

/// One value that is there once, for one task that may be cancelled while it waits.
final class Answer<Value: Sendable>: Sendable {
    private enum State: Sendable {
        case empty
        case waiting(CheckedContinuation<Value, any Error>)
        case ready(Result<Value, any Error>)
        case taken
    }

    private let state = Mutex(State.empty)

    /// Gives the value; false when there is a result already, such as a cancellation.
    func offer(_ value: Value) -> Bool {
        finish(.success(value))
    }

    /// The first result counts; whether this was it.
    @discardableResult
    func finish(_ result: Result<Value, any Error>) -> Bool {
        let (isFirst, waiting) = state.withLock { state -> (Bool, CheckedContinuation<Value, any Error>?) in
            switch state {
            case .empty:
                state = .ready(result)
                return (true, nil)
            case .waiting(let continuation):
                state = .taken
                return (true, continuation)
            case .ready, .taken: return (false, nil)
            }
        }
        waiting?.resume(with: result)
        return isFirst
    }

    func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ready = state.withLock { state -> Result<Value, any Error>? in
                    if case .ready(let result) = state {
                        state = .taken
                        return result
                    }
                    state = .waiting(continuation)
                    return nil
                }
                if let ready { continuation.resume(with: ready) }
            }
        } onCancel: {
            finish(.failure(CancellationError()))
        }
    }
}
