/// A moment on a clock that also counts time spent suspended, as the duration since the machine booted.
///
/// The machines never read a clock: every input carries the moment at which it happened.
package struct BootTime: Hashable, Comparable, Sendable {
    package var sinceBoot: Duration

    package init(sinceBoot: Duration) {
        self.sinceBoot = sinceBoot
    }

    package static let zero = BootTime(sinceBoot: .zero)

    package static func < (left: BootTime, right: BootTime) -> Bool {
        left.sinceBoot < right.sinceBoot
    }

    package static func + (moment: BootTime, wait: Duration) -> BootTime {
        BootTime(sinceBoot: moment.sinceBoot + wait.bounded)
    }

    package static func - (later: BootTime, earlier: BootTime) -> Duration {
        later.sinceBoot - earlier.sinceBoot
    }
}

extension Duration {
    /// Thirty years: longer waits cannot be told apart from "never", and adding them up must not overflow.
    private static let longest = Duration.seconds(946_080_000)

    /// The same duration, cut to a range that deadline arithmetic cannot overflow.
    package var bounded: Duration {
        min(max(self, .zero - Duration.longest), Duration.longest)
    }

    /// Whole and fractional seconds.
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }

    /// A duration from a number that a peer or a user gave; nil when it is not a finite number.
    package init?(finiteSeconds seconds: Double) {
        guard seconds.isFinite else { return nil }
        self = Duration.seconds(min(max(seconds, -946_080_000), 946_080_000))
    }
}
