import SystemIO
import Testing

@Suite struct BootInstantTests {
    @Test("instants add and subtract durations")
    func arithmetic() {
        let start = BootInstant(nanoseconds: 1_000)
        #expect(start.advanced(by: .microseconds(2)) == BootInstant(nanoseconds: 3_000))
        #expect(start.advanced(by: .nanoseconds(-1_500)) == BootInstant(nanoseconds: -500))
        #expect(start.duration(to: BootInstant(nanoseconds: 3_000)) == .microseconds(2))
        #expect(start < start.advanced(by: .nanoseconds(1)))
    }

    @Test("a timeout without bound means never and does not trap")
    func saturation() {
        #expect(BootInstant.now.advanced(by: .seconds(Int64.max)) == .distantFuture)
        #expect(BootInstant.now.advanced(by: .seconds(Int64.max / 1_000_000_000)) == .distantFuture)
        #expect(
            BootInstant(nanoseconds: -5).advanced(by: .seconds(Int64.min)) == BootInstant(nanoseconds: .min))
        #expect(BootInstant(nanoseconds: .min).duration(to: .distantFuture) > .seconds(18_000_000_000))
    }

    @Test("the clock does not run backwards")
    func monotonic() {
        let first = BootInstant.now
        #expect(first.nanoseconds > 0)
        #expect(BootInstant.now >= first)
    }
}
