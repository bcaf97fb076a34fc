/// RFC 8305 §4 and §5: which addresses to try, and when. A pure machine: events and the time in, actions out.
///
/// | state   | start / timer   | failed                                   | connected           | cancel      |
/// |---------|-----------------|------------------------------------------|---------------------|-------------|
/// | racing  | connect to next | connect to next; fail after the last one | abandon others, win | abandon all |
/// | over    | -               | -                                        | -                   | -           |
struct HappyEyeballs: Sendable {
    /// Names one attempt: the number of its address in `order`.
    typealias Attempt = Int

    enum Action: Equatable, Sendable {
        case connect(Attempt, SocketAddress)
        /// Close without a trace and report nothing more about it.
        case abandon(Attempt)
        case succeed(Attempt)
        /// Every address has failed; the errors stand in the order of the attempts.
        case fail([SystemError])
    }

    private enum State: Sendable {
        case racing(next: Attempt, inFlight: [Attempt])
        case over
    }

    /// RFC 8305 §5: the Connection Attempt Delay, 250 ms recommended, never below 100 ms.
    static let recommendedDelay: Duration = .milliseconds(250)

    /// The addresses as they are tried.
    let order: [SocketAddress]
    /// When `timerFired` is due; nil when there is nothing to wait for.
    private(set) var deadline: BootInstant?

    private let delay: Duration
    private var state = State.racing(next: 0, inFlight: [])
    private var failures: [Attempt: SystemError] = [:]

    init(_ addresses: [SocketAddress], delay: Duration = recommendedDelay) {
        order = Self.interleave(addresses)
        self.delay = delay
    }

    mutating func start(at now: BootInstant) -> [Action] { connectNext(at: now) }

    /// The delay since the last attempt's start is over.
    mutating func timerFired(at now: BootInstant) -> [Action] {
        guard let deadline, deadline <= now else { return [] }
        return connectNext(at: now)
    }

    /// RFC 8305 §5: a failed attempt does not wait for the delay, the next one starts at once.
    mutating func failed(_ attempt: Attempt, _ error: SystemError, at now: BootInstant) -> [Action] {
        guard case .racing(let next, var inFlight) = state,
            let index = inFlight.firstIndex(of: attempt)
        else { return [] }
        inFlight.remove(at: index)
        failures[attempt] = error
        state = .racing(next: next, inFlight: inFlight)
        if next == order.count, !inFlight.isEmpty { return [] }
        return connectNext(at: now)
    }

    /// RFC 8305 §5: the first connection wins, all others are cancelled.
    mutating func connected(_ attempt: Attempt) -> [Action] {
        guard case .racing(_, let inFlight) = state, inFlight.contains(attempt) else { return [] }
        state = .over
        deadline = nil
        return inFlight.filter { $0 != attempt }.map { .abandon($0) } + [.succeed(attempt)]
    }

    /// The caller gives up.
    mutating func cancel() -> [Action] {
        guard case .racing(_, let inFlight) = state else { return [] }
        state = .over
        deadline = nil
        return inFlight.map { .abandon($0) }
    }

    private mutating func connectNext(at now: BootInstant) -> [Action] {
        guard case .racing(let next, let inFlight) = state else { return [] }
        guard next < order.count else {
            deadline = nil
            guard inFlight.isEmpty else { return [] }
            state = .over
            return [.fail(failures.sorted { $0.key < $1.key }.map(\.value))]
        }
        state = .racing(next: next + 1, inFlight: inFlight + [next])
        deadline = next + 1 < order.count ? now.advanced(by: delay) : nil
        return [.connect(next, order[next])]
    }

    /// RFC 8305 §4: families take turns, beginning with the one that the resolver put first, and each keeps its order.
    private static func interleave(_ addresses: [SocketAddress]) -> [SocketAddress] {
        var seen: Set<SocketAddress> = []
        let unique = addresses.filter { seen.insert($0).inserted }
        guard let first = unique.first else { return [] }
        let same = unique.filter { $0.family == first.family }
        let other = unique.filter { $0.family != first.family }
        let turns = min(same.count, other.count)
        return zip(same, other).flatMap { [$0, $1] } + same.dropFirst(turns) + other.dropFirst(turns)
    }
}
