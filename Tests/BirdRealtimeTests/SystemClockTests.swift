import SystemIO
import Testing

@testable import BirdRealtime

@Suite(.timeLimit(.minutes(2))) struct SystemClockTests {
    let clock = SystemClock.shared

    @Test("A timer runs once, not before its moment")
    func fires() async {
        let start = clock.now
        let moments = Heard<Duration>()
        _ = clock.schedule(at: start + .milliseconds(20)) { [clock] in moments.append(clock.now) }
        await until { moments.count == 1 }
        #expect(moments.all[0] >= start + .milliseconds(20))
    }

    @Test("A cancelled timer does not run, also when it is cancelled at once or twice")
    func cancelled() async {
        let heard = Heard<String>()
        let start = clock.now
        // On the loop's own thread, where no timer can run in between.
        EventLoop.shared.submit { [clock] in
            let timer = clock.schedule(at: start + .milliseconds(30)) { heard.append("cancelled") }
            timer.cancel()
            timer.cancel()
        }
        // Timers run in the order of their moments: the cancelled one would have been first.
        _ = clock.schedule(at: start + .milliseconds(60)) { heard.append("kept") }
        await until { heard.count >= 1 }
        #expect(heard.all == ["kept"])
    }

    @Test("A moment that has passed is due at once, and one that never comes does not trap")
    func extremes() async {
        let heard = Heard<String>()
        let never = clock.schedule(at: .seconds(Int64.max / 4)) { heard.append("never") }
        _ = clock.schedule(at: .zero) { heard.append("past") }
        await until { heard.count >= 1 }
        never.cancel()
        #expect(heard.all == ["past"])
    }
}
