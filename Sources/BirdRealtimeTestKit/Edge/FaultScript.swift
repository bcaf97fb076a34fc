internal import Synchronization

/// Which faults are still to come. Written by tests on any thread, read by the edge.
final class FaultScript: Sendable {
    private struct State {
        var planned: [Int: LoopbackEdge.ConnectionPlan] = [:]
        var queue: [LoopbackEdge.ConnectionPlan] = []
        var fallback: LoopbackEdge.ConnectionPlan?
        var authQueue: [(channel: String?, fault: LoopbackEdge.AuthFault)] = []
    }

    private let state = Mutex(State())

    func set(_ plan: LoopbackEdge.ConnectionPlan, forConnection number: Int) {
        state.withLock { $0.planned[number] = plan }
    }

    func append(_ plan: LoopbackEdge.ConnectionPlan, _ count: Int) {
        state.withLock { $0.queue.append(contentsOf: repeatElement(plan, count: max(0, count))) }
    }

    func setDefault(_ plan: LoopbackEdge.ConnectionPlan?) {
        state.withLock { $0.fallback = plan }
    }

    func append(_ fault: LoopbackEdge.AuthFault, _ count: Int, channel: String?) {
        state.withLock { state in
            for _ in 0..<max(0, count) { state.authQueue.append((channel, fault)) }
        }
    }

    /// A plan by number comes first and leaves the queue alone; each plan is used once.
    func plan(forConnection number: Int) -> LoopbackEdge.ConnectionPlan {
        state.withLock { state in
            if let plan = state.planned.removeValue(forKey: number) { return plan }
            if !state.queue.isEmpty { return state.queue.removeFirst() }
            return state.fallback ?? LoopbackEdge.ConnectionPlan()
        }
    }

    /// The first fault that fits is used up. A sign-in has no channel and takes only faults for any request.
    func authFault(forChannel channel: String?) -> LoopbackEdge.AuthFault? {
        state.withLock { state in
            let index = state.authQueue.firstIndex { $0.channel == nil || $0.channel == channel }
            return index.map { state.authQueue.remove(at: $0).fault }
        }
    }
}
