import Testing
@testable import RealtimeCore

@Suite("Boot time")
struct BootTimeTests {
    @Test("an announced wait is never shorter than the wait")
    func announcedWait() {
        var shortened = 0
        for number in 1...20_000 {
            let wait = Duration.seconds(Double(number) * 0.000_737_1 / 3)
            if Duration.seconds(wait.inSeconds) < wait { shortened += 1 }
            #expect(Duration.seconds(wait.inSecondsRoundedUp) >= wait)
            #expect(wait.inSecondsRoundedUp - wait.inSeconds < 1e-9)
        }
        // Without rounding up some are: that is why it is done.
        #expect(shortened > 0)
    }
}
