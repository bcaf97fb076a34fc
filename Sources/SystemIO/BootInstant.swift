internal import Glibc

/// A moment on CLOCK_BOOTTIME, which goes on counting while the machine sleeps and never jumps with the wall clock.
package struct BootInstant: InstantProtocol, Sendable {
    /// Nanoseconds since the machine started.
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The current moment.
    package static var now: BootInstant {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)  // cannot fail: the clock exists since Linux 2.6.39
        return BootInstant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    /// A moment that never comes.
    package static var distantFuture: BootInstant { BootInstant(nanoseconds: .max) }

    /// Saturates at both ends: a huge timeout means never, it does not trap.
    package func advanced(by duration: Duration) -> BootInstant {
        BootInstant(nanoseconds: nanoseconds.addingSaturating(duration.saturatingNanoseconds))
    }

    package func duration(to other: BootInstant) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    package static func < (left: BootInstant, right: BootInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

extension Duration {
    fileprivate var saturatingNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        return scaled.addingSaturating(attoseconds / 1_000_000_000)
    }
}

extension Int64 {
    fileprivate func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        guard overflow else { return sum }
        return other < 0 ? .min : .max
    }
}
