/// When the next attempt starts: the backoff counter and its two brakes.
///
/// | happens | backoff counter | immediate retries |
/// | --- | --- | --- |
/// | handshake | reset, unless the last two connections died young | brake released |
/// | connection lasted 5 s | reset | |
/// | attempt failed | | brake set if the attempt was an immediate retry |
/// | wait scheduled | counts one | |
/// | more than 5 immediate retries within 10 s | | brake set |
struct ReconnectSchedule: Sendable {
    /// A connection that dies before this age counts as flapping.
    static let youngAge = Duration.seconds(5)
    static let immediateWindow = Duration.seconds(10)
    static let immediateLimit = 5
    static let longestRetryAfter = Duration.seconds(300)

    private(set) var attempt = 0
    private var youngDeaths = 0
    private var isImmediateBraked = false
    private var immediateRetries: [BootTime] = []
    private var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    mutating func handshakeSucceeded() {
        if youngDeaths < 2 { attempt = 0 }
        isImmediateBraked = false
    }

    mutating func connectionDied(atAge age: Duration) {
        if age >= ReconnectSchedule.youngAge {
            youngDeaths = 0
            attempt = 0
        } else {
            youngDeaths = min(youngDeaths + 1, 2)
        }
    }

    mutating func attemptFailed(wasImmediate: Bool) {
        if wasImmediate { isImmediateBraked = true }
    }

    /// The app disconnected, or connects after `disconnected` or `failed`: nothing of the past counts.
    mutating func reset() {
        attempt = 0
        youngDeaths = 0
        isImmediateBraked = false
        immediateRetries = []
    }

    /// True when a retry may start at once; false when the brake demands backoff.
    mutating func takeImmediateRetry(at now: BootTime) -> Bool {
        guard !isImmediateBraked else { return false }
        immediateRetries.removeAll { now - $0 >= ReconnectSchedule.immediateWindow }
        guard immediateRetries.count < ReconnectSchedule.immediateLimit else {
            isImmediateBraked = true
            return false
        }
        immediateRetries.append(now)
        return true
    }

    /// Full jitter under a bound that doubles, and never less than the server asked for.
    mutating func nextWait(_ policy: ReconnectPolicy, retryAfter: Duration?) -> Duration {
        let floor = max(policy.minimumDelay.inSeconds, 0)
        let cap = max(policy.maximumDelay.inSeconds, 0)
        var bound = max(policy.baseDelay.inSeconds, 0)
        // Doubling stops at the cap, so a long outage can neither overflow nor take time.
        for _ in 0..<min(attempt, 64) where bound < cap { bound *= 2 }
        attempt &+= 1
        let width = max(min(bound, cap) - floor, 0)
        let wait = Duration(finiteSeconds: floor + width * generator.fraction()) ?? .zero
        guard let retryAfter, retryAfter > .zero else { return wait }
        return max(wait, min(retryAfter, ReconnectSchedule.longestRetryAfter))
    }
}
