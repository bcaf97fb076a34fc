package final class EventLoop: SerialExecutor, Sendable {
    package static let shared: EventLoop = EventLoop(name: "io")
    package init(name: String) { fatalError() }
    package func stop() async { fatalError() }
    package func enqueue(_ job: consuming ExecutorJob) { fatalError() }
    package func submit(_ work: @escaping @Sendable () -> Void) { fatalError() }
    package var isOnLoop: Bool { fatalError() }
    package var readBuffer: UnsafeMutableRawBufferPointer { fatalError() }
    package func watch(_ descriptor: Int32, _ interest: Interest, _ handler: any ReadinessHandler)
        throws(SystemError) -> WatchID
    { fatalError() }
    package func change(_ id: WatchID, _ interest: Interest) { fatalError() }
    package func unwatch(_ id: WatchID) { fatalError() }
    package func schedule(at deadline: BootInstant, _ body: @escaping () -> Void) -> TimerID { fatalError() }
    package func cancel(_ id: TimerID) { fatalError() }
}

/// Why an asynchronous wait on the loop ended without what it waited for.
package enum WaitFailure: Error, Equatable, Sendable {
    /// The waiting task was cancelled.
    case cancelled
    /// The descriptor cannot be watched.
    case failed(SystemError)
}

extension EventLoop {
    package func waitUntilReady(
        _ descriptor: Int32, _ interest: Interest, isolation: isolated (any Actor)? = #isolation
    ) async throws(WaitFailure) -> Readiness { fatalError() }
    package func sleep(until deadline: BootInstant, isolation: isolated (any Actor)? = #isolation)
        async throws(CancellationError)
    { fatalError() }
}
