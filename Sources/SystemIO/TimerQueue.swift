/// Deadlines in order: a binary heap whose entries know their place, so that cancelling costs O(log n) too.
///
/// A pure value without a clock. Equal deadlines come out in the order in which they went in.
struct TimerQueue<Payload> {
    private struct Entry {
        var deadline: BootInstant
        var sequence: UInt64
        var heapIndex: Int
        var payload: Payload?  // nil: the slot is free
    }

    private var entries: [Entry] = []
    private var freeSlots: [Int] = []
    private var heap: [Int] = []  // slots, the earliest first

    /// The number that the next timer gets; timers are numbered upwards.
    private(set) var nextSequence: UInt64 = 0

    var count: Int { heap.count }

    /// The earliest deadline; nil when nothing is scheduled.
    var earliest: BootInstant? { heap.first.map { entries[$0].deadline } }

    mutating func schedule(at deadline: BootInstant, _ payload: Payload) -> TimerID {
        let sequence = nextSequence
        nextSequence &+= 1
        let entry = Entry(deadline: deadline, sequence: sequence, heapIndex: heap.count, payload: payload)
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
            entries[slot] = entry
        } else {
            slot = entries.count
            entries.append(entry)
        }
        heap.append(slot)
        siftUp(from: heap.count - 1)
        return TimerID(slot: slot, sequence: sequence)
    }

    /// Removes a timer and gives its payload back at once; nil when it has fired or was cancelled before.
    @discardableResult
    mutating func cancel(_ id: TimerID) -> Payload? {
        guard entries.indices.contains(id.slot), entries[id.slot].sequence == id.sequence,
            entries[id.slot].payload != nil
        else { return nil }
        return remove(heapIndex: entries[id.slot].heapIndex)
    }

    /// The next timer whose deadline has come, if it was scheduled before the one numbered `limit`.
    mutating func popDue(at now: BootInstant, numberedBelow limit: UInt64 = .max) -> Payload? {
        guard let slot = heap.first, entries[slot].deadline <= now, entries[slot].sequence < limit else {
            return nil
        }
        return remove(heapIndex: 0)
    }

    /// Takes everything out; nothing that was scheduled before can be cancelled or come due any more.
    mutating func removeAll() -> [Payload] {
        let payloads = heap.compactMap { entries[$0].payload }
        entries = []
        freeSlots = []
        heap = []
        return payloads
    }

    private mutating func remove(heapIndex: Int) -> Payload? {
        let slot = heap[heapIndex]
        let last = heap.count - 1
        if heapIndex != last {
            place(heap[last], at: heapIndex)
            heap.removeLast()
            siftDown(from: heapIndex)
            siftUp(from: heapIndex)
        } else {
            heap.removeLast()
        }
        freeSlots.append(slot)
        return entries[slot].payload.take()
    }

    private mutating func siftUp(from start: Int) {
        var index = start
        let slot = heap[index]
        while index > 0 {
            let parent = (index - 1) / 2
            guard isEarlier(slot, heap[parent]) else { break }
            place(heap[parent], at: index)
            index = parent
        }
        place(slot, at: index)
    }

    private mutating func siftDown(from start: Int) {
        var index = start
        let slot = heap[index]
        while true {
            var child = 2 * index + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, isEarlier(heap[child + 1], heap[child]) { child += 1 }
            guard isEarlier(heap[child], slot) else { break }
            place(heap[child], at: index)
            index = child
        }
        place(slot, at: index)
    }

    private mutating func place(_ slot: Int, at index: Int) {
        heap[index] = slot
        entries[slot].heapIndex = index
    }

    private func isEarlier(_ left: Int, _ right: Int) -> Bool {
        let (left, right) = (entries[left], entries[right])
        return left.deadline == right.deadline
            ? left.sequence < right.sequence : left.deadline < right.deadline
    }
}
