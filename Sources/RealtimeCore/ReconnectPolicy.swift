/// How long the client waits before it connects again.
///
/// The wait before attempt *n* (from 0) is uniformly random between `minimumDelay` and
/// `min(maximumDelay, baseDelay · 2ⁿ)`: full jitter, so clients that were dropped together do not come back together.
public struct ReconnectPolicy: Sendable {
    /// What to do about a close code.
    public enum Decision: Hashable, Sendable {
        /// State `failed`; no retry until `connect()`.
        case fail
        /// A new attempt at once, behind the brake against hot loops.
        case retryImmediately
        /// A new attempt after the backoff.
        case backOff
    }

    /// Upper bound of the first wait. Default: 1 s.
    public var baseDelay: Duration = .seconds(1)

    /// Upper bound of every wait. Default: 30 s. A `Retry-After` of the server may ask for more.
    public var maximumDelay: Duration = .seconds(30)

    /// Lower bound of every wait. Default: zero. Immediate retries are not affected.
    public var minimumDelay: Duration = .zero

    /// Overrides the rule for a close code; return nil to keep the standard rule. The code is nil when the
    /// connection ended without one. Called on the client's own thread: it must not block.
    public var rule: (@Sendable (_ closeCode: Int?) -> Decision?)?

    /// Makes the random waits repeatable, for tests. Default: nil, drawn from the system.
    public var seed: UInt64?

    /// The standard policy.
    public init() {}

    /// The standard rule: 4000–4099 fail, 4200–4299 retry at once, everything else backs off.
    public static func standardDecision(closeCode: Int?) -> Decision {
        switch closeCode {
        case .some(4000...4099): .fail
        case .some(4200...4299): .retryImmediately
        default: .backOff
        }
    }

    package func decision(closeCode: Int?) -> Decision {
        rule?(closeCode) ?? ReconnectPolicy.standardDecision(closeCode: closeCode)
    }
}
