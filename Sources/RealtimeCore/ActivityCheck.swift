/// The stale-connection check of one connection: silence, a ping, more silence, dead.
///
/// | state | any inbound message | its deadline |
/// | --- | --- | --- |
/// | idle since t | idle since now | t + activity timeout: ping, awaiting a pong |
/// | awaiting a pong since t | idle since now | t + pong timeout: dead |
///
/// What this side sends never counts.
struct ActivityCheck: Sendable {
    enum State: Hashable, Sendable {
        case idle(since: BootTime)
        case awaitingPong(since: BootTime)
    }

    enum Verdict { case alive, ping, dead }

    let activityTimeout: Duration
    let pongTimeout: Duration
    private(set) var state: State
    /// When the ping went out whose pong is still to come; data that arrives before the pong does not clear it.
    private var unansweredPing: BootTime?

    init(activityTimeout: Duration, pongTimeout: Duration, at now: BootTime) {
        self.activityTimeout = activityTimeout
        self.pongTimeout = pongTimeout
        state = .idle(since: now)
    }

    /// The handshake's value, or the option's when it names none that is usable.
    static func timeout(handshake value: JSONValue?, option: Duration) -> Duration {
        guard let seconds = value?.double, seconds > 0, let timeout = Duration(finiteSeconds: seconds) else {
            return option
        }
        return max(timeout, .seconds(1))
    }

    var deadline: BootTime {
        switch state {
        case .idle(let since): since + activityTimeout
        case .awaitingPong(let since): since + pongTimeout
        }
    }

    mutating func heard(at now: BootTime) {
        state = .idle(since: now)
    }

    /// The round-trip time, when a ping of ours was waiting for this pong.
    mutating func pong(at now: BootTime) -> Duration? {
        guard let sent = unansweredPing else { return nil }
        unansweredPing = nil
        return now - sent
    }

    mutating func check(at now: BootTime) -> Verdict {
        guard now >= deadline else { return .alive }
        switch state {
        case .idle:
            state = .awaitingPong(since: now)
            unansweredPing = now
            return .ping
        case .awaitingPong:
            return .dead
        }
    }
}
