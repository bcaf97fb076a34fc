import Dispatch
import Synchronization
import SystemIO

/// Brings what happened to the handlers, in order, one after the other, never on a thread that waits for them.
///
/// Everything that waits is taken in one hop to the queue. Event data that waits is bounded: beyond the limit the
/// newest events are dropped, so that what arrives stays a gapless beginning of each run.
final class Delivery: Sendable {
    private struct Waiting {
        var items: [DeliveryItem] = []
        var byteCount = 0
        var isRunning = false
        var isStopped = false
        /// Whether the last event that asked was dropped.
        var isDropping = false
        var droppedCount = 0
    }

    private let waiting = Mutex(Waiting())
    private let executor: DeliveryExecutor
    private let maxByteCount: Int

    init(executor: DeliveryExecutor, maxByteCount: Int) {
        self.executor = executor
        self.maxByteCount = max(0, maxByteCount)
    }

    /// How many events were dropped because too much waited.
    var droppedCount: Int { waiting.withLock { $0.droppedCount } }

    /// Whether nothing waits and no handler runs: nobody can bind before an event that arrives now has its turn.
    var isIdle: Bool { waiting.withLock { !$0.isRunning } }

    enum Admission { case taken, dropped, firstDropOfRun }

    @discardableResult
    func add(_ item: DeliveryItem) -> Admission {
        let cost = item.byteCount
        let (admission, start) = waiting.withLock { waiting -> (Admission, Bool) in
            guard !waiting.isStopped else { return (.taken, false) }
            if cost > 0, waiting.byteCount + cost > maxByteCount {
                waiting.droppedCount += 1
                defer { waiting.isDropping = true }
                return (waiting.isDropping ? .dropped : .firstDropOfRun, false)
            }
            if cost > 0 { waiting.isDropping = false }
            waiting.byteCount += cost
            waiting.items.append(item)
            defer { waiting.isRunning = true }
            return (.taken, !waiting.isRunning)
        }
        if start { executor.run { self.deliver() } }
        return admission
    }

    /// Nothing is delivered any more; what waits is freed.
    func stop() {
        let freed = waiting.withLock { waiting -> [DeliveryItem] in
            waiting.isStopped = true
            defer { waiting.items = [] }
            return waiting.items
        }
        // What handlers captured may run code when it is freed: not under the lock.
        withExtendedLifetime(freed) {}
    }

    private func deliver() {
        let batch = waiting.withLock { waiting -> [DeliveryItem] in
            defer { waiting.items = [] }
            return waiting.items
        }
        for item in batch {
            let goesOn = waiting.withLock { waiting in
                waiting.byteCount -= item.byteCount
                return !waiting.isStopped
            }
            guard goesOn else { break }
            item.deliver()
        }
        let more = waiting.withLock { waiting in
            waiting.isRunning = !waiting.items.isEmpty
            return waiting.isRunning
        }
        // One hop per batch: work of others on the same queue gets its turn in between.
        if more { executor.runNext { self.deliver() } }
    }
}

/// Something to be brought to handlers.
enum DeliveryItem: Sendable {
    case event(EventDelivery)
    /// Any other call that has its place in the order. One without a cost is never dropped.
    case call(cost: Int = 0, @Sendable () -> Void)

    /// What it counts for against the limit while it waits.
    var byteCount: Int {
        switch self {
        case .event(let event): event.byteCount
        case .call(let cost, _): cost
        }
    }

    /// What each event counts for beside its name and data.
    static let baseCost = 64

    func deliver() {
        switch self {
        case .event(let event): event.deliver()
        case .call(_, let body): body()
        }
    }
}

/// Where deliveries run.
enum DeliveryExecutor: Sendable {
    case queue(DispatchQueue)
    /// The thread that reads the sockets: at once when this is that thread.
    case inline(EventLoop)

    func run(_ body: @escaping @Sendable () -> Void) {
        switch self {
        case .queue(let queue): queue.async(execute: body)
        case .inline(let loop):
            if loop.isOnLoop { body() } else { loop.submit(body) }
        }
    }

    /// Never at once: for what goes on after a batch.
    func runNext(_ body: @escaping @Sendable () -> Void) {
        switch self {
        case .queue(let queue): queue.async(execute: body)
        case .inline(let loop): loop.submit(body)
        }
    }
}
