internal import Synchronization

/// One thread that waits for descriptors, timers and work from other threads, and runs what they bring.
///
/// It is a `SerialExecutor`: an actor lives on it by returning `asUnownedSerialExecutor()` as its `unownedExecutor`.
/// Rounds are fair: a round runs the work that had arrived when it began, then the timers that are due, then what epoll
/// reports. Work that these enqueue runs in the next round, so no chain of jobs keeps the sockets waiting.
///
/// The thread keeps the loop alive until `stop()`; `shared` never stops. All signals but a thread's own faults are blocked
/// on it, so a host's signal handlers run elsewhere.
package final class EventLoop: SerialExecutor, Sendable {
    /// The loop that serves the process by default.
    package static let shared = EventLoop(name: "bird-io")

    private enum Work: Sendable {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    private enum Phase { case running, stopping, stopped }

    private struct Inbox: Sendable {
        var work: [Work] = []
        /// The thread is, or is about to be, in epoll_wait without a limit: the next arrival wakes it, and only that one.
        var isAsleep = false
        var phase = Phase.running
        var stopWaiters: [CheckedContinuation<Void, Never>] = []
        var thread: SystemThread?
    }

    /// What the thread alone touches.
    private struct Confined {
        var batch: [Work] = []
        var timers = TimerQueue<() -> Void>()
        var now = BootInstant(nanoseconds: 0)
    }

    private let inbox = Mutex(Inbox())
    private let threadIdentity = Atomic<UInt>(0)
    // Sound: every use but wake(), which only writes to an eventfd, is on the loop's thread; the entry points check it.
    private nonisolated(unsafe) let poller: Poller
    // Sound: touched on the loop's thread only; the entry points check it.
    private nonisolated(unsafe) var confined = Confined()
    // Sound: memory that lives as long as the loop; readBuffer checks the thread.
    private nonisolated(unsafe) let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 256 * 1024, alignment: 4096)

    /// Starts a loop and its thread. Ends the process when the kernel grants neither descriptors nor a thread.
    package init(name: String) {
        do {
            poller = try Poller()
            let thread = try SystemThread(name: name) { self.run() }
            inbox.withLock { $0.thread = thread }
        } catch {
            fatalError("an event loop cannot start: \(error)")
        }
    }

    deinit {
        buffer.deallocate()
    }

    // MARK: From any thread

    /// Is the caller on this loop's thread?
    package var isOnLoop: Bool { threadIdentity.load(ordering: .relaxed) == SystemThread.current }

    /// Runs a closure on the loop's thread, after everything enqueued before; never inside the call.
    /// Dropped when the loop has stopped.
    package func submit(_ work: @escaping @Sendable () -> Void) {
        _ = append(.closure(work))
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let accepted = append(.job(UnownedJob(job)))
        precondition(accepted, "an actor outlives the event loop it runs on")
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    package func checkIsolated() {
        precondition(isOnLoop, "not on the event loop's thread")
    }

    package func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    /// Runs what has arrived, drops watches and timers, ends the thread and waits for its end. Not from the loop itself.
    package func stop() async {
        precondition(!isOnLoop, "an event loop cannot wait for its own end")
        await withCheckedContinuation { continuation in
            let isOver = inbox.withLock { inbox in
                guard inbox.phase != .stopped else { return true }
                inbox.phase = .stopping
                inbox.stopWaiters.append(continuation)
                return false
            }
            if isOver { continuation.resume() } else { poller.wake() }
        }
        inbox.withLock { $0.thread.take() }?.join()
    }

    private func append(_ work: Work) -> Bool {
        let (accepted, wakes) = inbox.withLock { inbox in
            guard inbox.phase != .stopped else { return (false, false) }
            inbox.work.append(work)
            return (true, exchange(&inbox.isAsleep, with: false))
        }
        if wakes && !isOnLoop { poller.wake() }  // the loop itself looks before it sleeps
        return accepted
    }

    // MARK: On the loop's thread

    /// One buffer for all connections of the loop: what a read puts there is to be used before control returns to the loop.
    package var readBuffer: UnsafeMutableRawBufferPointer {
        checkIsolated()
        return buffer
    }

    /// Watches a descriptor, level triggered, and keeps the handler until `unwatch`. A descriptor has one watch at a time.
    /// With an empty interest only hang-ups and errors are reported, once each.
    package func watch(_ descriptor: Int32, _ interest: Interest, _ handler: any ReadinessHandler)
        throws(SystemError) -> WatchID
    {
        checkIsolated()
        return try poller.watch(descriptor, interest, handler)
    }

    /// Changes what a watch waits for, from this moment on.
    package func change(_ id: WatchID, _ interest: Interest) {
        checkIsolated()
        poller.change(id, interest)
    }

    /// Ends a watch and lets the handler go; nothing is delivered to it after this. Call it before closing the descriptor.
    package func unwatch(_ id: WatchID) {
        checkIsolated()
        poller.unwatch(id)
    }

    /// Runs a closure when the moment has come; in the next round at the earliest. Equal deadlines keep their order.
    @discardableResult
    package func schedule(at deadline: BootInstant, _ body: @escaping () -> Void) -> TimerID {
        checkIsolated()
        // A deadline in the past counts as now: it must not pass ahead of timers that are waiting for their turn.
        return confined.timers.schedule(at: max(deadline, confined.now), body)
    }

    /// Cancels a timer and lets its closure go at once; nothing happens when it has fired.
    package func cancel(_ id: TimerID) {
        checkIsolated()
        let body = confined.timers.cancel(id)
        _ = consume body  // after the queue's access has ended: a deinit may schedule and cancel
    }

    private func run() {
        threadIdentity.store(SystemThread.current, ordering: .relaxed)
        while takeBatch() {
            runBatch()
            runDueTimers()
            let deadline = confined.timers.earliest
            let waits = (deadline.map { $0 > confined.now } ?? true) && fallAsleep()
            poller.poll(waits: waits, until: deadline)
        }
        threadIdentity.store(0, ordering: .relaxed)  // the identity may come again with another thread
        let waiters = inbox.withLock { exchange(&$0.stopWaiters, with: []) }
        for waiter in waiters { waiter.resume() }
    }

    /// Moves what has arrived into the batch; false when the loop is to end.
    private func takeBatch() -> Bool {
        let ends = inbox.withLock { inbox in
            inbox.isAsleep = false
            swap(&inbox.work, &confined.batch)
            return inbox.phase == .stopping && confined.batch.isEmpty
        }
        guard ends else { return true }
        poller.unwatchAll()
        _ = confined.timers.removeAll()
        // Letting handlers and closures go may have brought more work.
        return !inbox.withLock { inbox in
            if inbox.work.isEmpty { inbox.phase = .stopped }
            return inbox.phase == .stopped
        }
    }

    private func runBatch() {
        guard !confined.batch.isEmpty else { return }
        var batch = exchange(&confined.batch, with: [])
        for work in batch {
            switch work {
            case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
            case .closure(let body): body()
            }
        }
        batch.removeAll(keepingCapacity: batch.capacity <= 1024)
        confined.batch = batch
    }

    private func runDueTimers() {
        guard confined.timers.count > 0 else { return }
        confined.now = .now
        let limit = confined.timers.nextSequence
        while let body = confined.timers.popDue(at: confined.now, numberedBelow: limit) { body() }
    }

    /// True when nothing has arrived: from here on an arrival wakes the thread.
    private func fallAsleep() -> Bool {
        inbox.withLock { inbox in
            inbox.isAsleep = inbox.work.isEmpty && inbox.phase == .running
            return inbox.isAsleep
        }
    }
}
