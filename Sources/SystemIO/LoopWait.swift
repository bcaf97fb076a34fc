/// Why an asynchronous wait on the loop ended without what it waited for.
package enum WaitFailure: Error, Equatable, Sendable {
    /// The waiting task was cancelled.
    case cancelled
    /// The descriptor cannot be watched.
    case failed(SystemError)
}

extension EventLoop {
    /// Waits until a descriptor that nobody else watches on this loop is ready. From any task.
    ///
    /// A cancelled wait throws as soon as the loop has ended the watch, so the descriptor may be closed right afterwards.
    package func waitUntilReady(
        _ descriptor: Int32, _ interest: Interest, isolation: isolated (any Actor)? = #isolation
    ) async throws(WaitFailure) -> Readiness {
        try await wait(isolation: isolation) { (wait: LoopWait<Readiness>) throws(SystemError) in
            let handler = ReadinessWait(wait)
            let id = try self.watch(descriptor, interest, handler)
            return { self.unwatch(id) }
        }
    }

    /// Sleeps until a moment; a moment in the past still lets the loop run a round. From any task.
    package func sleep(until deadline: BootInstant, isolation: isolated (any Actor)? = #isolation)
        async throws(CancellationError)
    {
        do throws(WaitFailure) {
            try await wait(isolation: isolation) { (wait: LoopWait<Void>) in
                let id = self.schedule(at: deadline) { wait.finish(.success(())) }
                return { self.cancel(id) }
            }
        } catch {
            throw CancellationError()  // a timer cannot fail
        }
    }

    /// Runs a closure on the loop's thread and brings its result back; not cancellable, and not for a loop that has stopped.
    package func run<Value: Sendable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result = await withCheckedContinuation(isolation: isolation) {
            (continuation: CheckedContinuation<Result<Value, Failure>, Never>) in
            submit { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }

    /// Suspends the caller until `arm`, which runs on the loop, has had the wait finished. `arm` returns how to undo it.
    func wait<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        arm: @escaping @Sendable (LoopWait<Value>) throws(SystemError) -> () -> Void
    ) async throws(WaitFailure) -> Value {
        let wait = LoopWait<Value>()
        let result = await withTaskCancellationHandler(
            operation: {
                await withCheckedContinuation(isolation: isolation) { continuation in
                    if isOnLoop {
                        wait.begin(continuation, arm)
                    } else {
                        submit { wait.begin(continuation, arm) }
                    }
                }
            },
            // Also the undoing happens on the loop, before the caller goes on.
            onCancel: { submit { wait.finish(.failure(.cancelled)) } }, isolation: isolation)
        return try result.get()
    }
}

/// One suspended caller. It may be finished before it began, and several times: the first result counts.
final class LoopWait<Value: Sendable>: @unchecked Sendable {
    typealias Outcome = Result<Value, WaitFailure>

    private enum State {
        case idle
        case waiting(CheckedContinuation<Outcome, Never>, undo: () -> Void)
        /// `arm` is running.
        case arming(CheckedContinuation<Outcome, Never>)
        case finished(Outcome)
        case resumed
    }

    // Sound as @unchecked Sendable: begin and finish run on the loop's thread only, nothing else touches the state.
    private var state = State.idle

    func begin(
        _ continuation: CheckedContinuation<Outcome, Never>,
        _ arm: (LoopWait<Value>) throws(SystemError) -> () -> Void
    ) {
        if case .finished(let outcome) = state {
            state = .resumed
            continuation.resume(returning: outcome)
            return
        }
        state = .arming(continuation)
        do throws(SystemError) {
            let undo = try arm(self)
            // It may have been finished from within `arm`; then nothing is left but to clean up.
            if case .arming = state { state = .waiting(continuation, undo: undo) } else { undo() }
        } catch {
            finish(.failure(.failed(error)))
        }
    }

    func finish(_ outcome: Outcome) {
        switch state {
        case .idle:
            state = .finished(outcome)
        case .arming(let continuation):
            state = .resumed
            continuation.resume(returning: outcome)
        case .waiting(let continuation, let undo):
            state = .resumed
            undo()
            continuation.resume(returning: outcome)
        case .finished, .resumed:
            break
        }
    }
}

private final class ReadinessWait: ReadinessHandler {
    private let wait: LoopWait<Readiness>
    init(_ wait: LoopWait<Readiness>) { self.wait = wait }
    func ready(_ readiness: Readiness) { wait.finish(.success(readiness)) }
}
