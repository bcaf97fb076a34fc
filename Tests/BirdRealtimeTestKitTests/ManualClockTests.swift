import BirdRealtime
import Synchronization
import Testing

@testable import BirdRealtimeTestKit

@Suite("The manual clock", .timeLimit(.minutes(2)))
struct ManualClockTests {
    /// What ran, in order.
    private final class Record: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

    @Test("timers run in the order of their deadlines, each with the clock at its moment")
    func order() {
        let clock = ManualClock()
        let record = Record()
        for seconds in [3, 1, 2, 1] {
            _ = clock.schedule(at: .seconds(seconds)) { record.add("\(seconds) at \(clock.now)") }
        }
        clock.advance(by: .seconds(2))
        #expect(record.all == ["1 at 1.0 seconds", "1 at 1.0 seconds", "2 at 2.0 seconds"])
        #expect(clock.now == .seconds(2))
        #expect(clock.pendingDeadlines == [.seconds(3)])
    }

    @Test("a timer armed by a timer runs within the same step")
    func nested() {
        let clock = ManualClock()
        let record = Record()
        _ = clock.schedule(at: .seconds(1)) {
            _ = clock.schedule(at: .seconds(2)) { record.add("inner") }
        }
        clock.advance(by: .seconds(5))
        #expect(record.all == ["inner"])
        #expect(clock.now == .seconds(5))
    }

    @Test("a cancelled timer does not run, and may be cancelled again")
    func cancel() {
        let clock = ManualClock()
        let record = Record()
        let timer = clock.schedule(at: .seconds(1)) { record.add("ran") }
        timer.cancel()
        timer.cancel()
        clock.advance(by: .seconds(2))
        timer.cancel()
        #expect(record.all.isEmpty)
    }

    @Test("a timer of the past runs without the clock being moved")
    func past() async {
        let clock = ManualClock(now: .seconds(10))
        await withCheckedContinuation { continuation in
            _ = clock.schedule(at: .seconds(10)) { continuation.resume() }
        }
        #expect(clock.now == .seconds(10))
    }

    @Test("a timer armed while another thread moves the clock past it runs")
    func armedMeanwhile() async {
        for _ in 0..<3_000 {
            let clock = ManualClock()
            async let ran: Void = withCheckedContinuation { continuation in
                _ = clock.schedule(at: .seconds(1)) { continuation.resume() }
            }
            async let moved: Void = Task.detached { clock.advance(by: .seconds(1)) }.value
            // Lost, it would never run, and the suite's time limit would say so.
            _ = await (ran, moved)
        }
    }

    @Test("the next timer is waited for, and moved to")
    func nextTimer() async throws {
        let clock = ManualClock()
        async let step = clock.advanceToNextTimer()
        let record = Record()
        _ = clock.schedule(at: .seconds(120)) { record.add("ran") }
        #expect(try await step == .seconds(120))
        #expect(record.all == ["ran"])
        await #expect(throws: ManualClock.WaitError.timedOut) {
            try await clock.advanceToNextTimer(timeout: .milliseconds(1))
        }
    }
}
