import Testing

@testable import SystemIO

@Suite struct TimerQueueTests {
    private func at(_ nanoseconds: Int64) -> BootInstant { BootInstant(nanoseconds: nanoseconds) }

    @Test("timers come out by deadline, equal deadlines in the order they went in")
    func order() {
        var queue = TimerQueue<String>()
        _ = queue.schedule(at: at(20), "third")
        _ = queue.schedule(at: at(10), "first")
        _ = queue.schedule(at: at(10), "second")
        #expect(queue.earliest == at(10))
        #expect(queue.popDue(at: at(9)) == nil)
        #expect(queue.popDue(at: at(10)) == "first")
        #expect(queue.popDue(at: at(10)) == "second")
        #expect(queue.popDue(at: at(10)) == nil)
        #expect(queue.popDue(at: at(99)) == "third")
        #expect(queue.count == 0)
        #expect(queue.earliest == nil)
    }

    @Test("a cancelled timer gives its payload back once, and an old name does not hit a slot's next user")
    func cancelling() {
        var queue = TimerQueue<String>()
        let first = queue.schedule(at: at(1), "first")
        #expect(queue.cancel(first) == "first")
        #expect(queue.cancel(first) == nil)
        let second = queue.schedule(at: at(1), "second")
        #expect(queue.cancel(first) == nil)
        #expect(queue.popDue(at: at(1)) == "second")
        #expect(queue.cancel(second) == nil)
    }

    @Test("timers scheduled during a round wait for the next one")
    func limit() {
        var queue = TimerQueue<String>()
        _ = queue.schedule(at: at(1), "old")
        let limit = queue.nextSequence
        _ = queue.schedule(at: at(1), "new")
        #expect(queue.popDue(at: at(1), numberedBelow: limit) == "old")
        #expect(queue.popDue(at: at(1), numberedBelow: limit) == nil)
        #expect(queue.popDue(at: at(1)) == "new")
    }

    @Test("after removing all, old names are void")
    func removingAll() {
        var queue = TimerQueue<String>()
        let first = queue.schedule(at: at(1), "a")
        _ = queue.schedule(at: at(2), "b")
        #expect(queue.removeAll().sorted() == ["a", "b"])
        #expect(queue.count == 0)
        _ = queue.schedule(at: at(3), "c")
        #expect(queue.cancel(first) == nil)
        #expect(queue.popDue(at: at(3)) == "c")
    }

    @Test("random schedules, cancels and expiries agree with a sorted list", arguments: 1...8)
    func model(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var queue = TimerQueue<Int>()
        var model: [(deadline: Int64, number: Int, id: TimerID)] = []
        var now: Int64 = 0
        for number in 0..<4000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let deadline = now + Int64.random(in: 0..<200, using: &random)
                model.append((deadline, number, queue.schedule(at: at(deadline), number)))
            case 5..<8:
                guard !model.isEmpty else { continue }
                let victim = model.remove(at: Int.random(in: 0..<model.count, using: &random))
                #expect(queue.cancel(victim.id) == victim.number, "seed \(seed)")
            default:
                now += Int64.random(in: 0..<50, using: &random)
                let due = model.filter { $0.deadline <= now }
                    .sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }.map(\.number)
                model.removeAll { $0.deadline <= now }
                var popped: [Int] = []
                while let number = queue.popDue(at: at(now)) { popped.append(number) }
                #expect(popped == due, "seed \(seed)")
            }
            #expect(queue.count == model.count, "seed \(seed)")
        }
    }
}
