/// The realtime protocol of one client, as a pure value: inputs with the moment at which they happened go in, actions
/// come out in the order in which they are to be carried out.
///
/// After every input the shell arms one timer for `nextDeadline` and calls `advance(to:)` when it is due (an early or
/// a late call does no harm). When a socket is readable and the timer is due at the same time, the shell feeds the
/// messages first: what was said is proof of life.
///
/// | state | socket | deadline | leaves by |
/// | --- | --- | --- | --- |
/// | initialized | none | none | connect |
/// | connecting | one, opening or waiting for the handshake event | the attempt's | handshake, end, deadline, disconnect |
/// | connected | one | ping or pong timeout | end, silence, disconnect |
/// | unavailable | none | the next attempt | deadline, connect, retryNow, disconnect |
/// | disconnected | none | none | connect |
/// | failed | none | none | connect, disconnect |
package struct RealtimeMachine: Sendable {
    enum State: Sendable {
        case initialized
        case connecting(Attempt)
        case connected(Session)
        case unavailable(retryAt: BootTime)
        case disconnected
        case failed(ErrorReport)
    }

    struct Attempt: Sendable {
        let socket: SocketTag
        let deadline: BootTime
        let isImmediateRetry: Bool
        var isUpgraded = false
    }

    struct Session: Sendable {
        let socket: SocketTag
        let connectionID: String
        let since: BootTime
    }

    /// What the server said about itself on the socket of the moment.
    struct Remarks: Sendable {
        var lastError: ErrorReport?
        var isLastWord = false
    }

    package let configuration: RealtimeConfiguration
    /// How the last connection that had been `connected` ended.
    package internal(set) var lastDisconnect: SocketEnd?
    /// The round-trip time of the last ping that was answered.
    package internal(set) var lastPingRoundTrip: Duration?
    /// Messages that were not of this protocol.
    package internal(set) var ignoredMessageCount = 0

    var state = State.initialized
    var activity: ActivityCheck
    var remarks = Remarks()
    var schedule: ReconnectSchedule
    var channels = SubscriptionTable()
    var signinMachine = SigninMachine()
    private var lastSocket = 0
    private var lastAuthorization = 0

    package init(configuration: RealtimeConfiguration) {
        self.configuration = configuration
        schedule = ReconnectSchedule(seed: configuration.reconnect.seed ?? configuration.seed)
        activity = ActivityCheck(
            activityTimeout: configuration.activityTimeout, pongTimeout: configuration.pongTimeout, at: .zero)
    }

    package var phase: ConnectionPhase {
        switch state {
        case .initialized: .initialized
        case .connecting: .connecting
        case .connected: .connected
        case .unavailable: .unavailable
        case .disconnected: .disconnected
        case .failed: .failed
        }
    }

    package var connectionID: String? {
        if case .connected(let session) = state { session.connectionID } else { nil }
    }

    /// The error that led to `failed`, for observers that register late.
    package var terminalError: ErrorReport? {
        if case .failed(let report) = state { report } else { nil }
    }

    /// The identity of this connection.
    package var identity: SignedInIdentity? { signinMachine.identity }

    /// The socket whose events are heard.
    package var socket: SocketTag? {
        switch state {
        case .connecting(let attempt): attempt.socket
        case .connected(let session): session.socket
        case .initialized, .unavailable, .disconnected, .failed: nil
        }
    }

    /// When `advance(to:)` has something to do; nil when nothing is scheduled.
    package var nextDeadline: BootTime? {
        switch state {
        case .connecting(let attempt): attempt.deadline
        case .connected: activity.deadline
        case .unavailable(let retryAt): retryAt
        case .initialized, .disconnected, .failed: nil
        }
    }

    /// What the watchlist said since the signin of this connection: the snapshot for a handler that binds late.
    package var watchlistSnapshot: [WatchlistEvent] { signinMachine.watchlist.snapshot }

    package func channelID(named name: String) -> ChannelID? { channels.named(name)?.id }

    package func isSubscribed(_ id: ChannelID) -> Bool { channels[id]?.phase == .subscribed }

    /// Empty while the channel is not subscribed; nil for a channel that is gone.
    package func roster(of id: ChannelID) -> PresenceRoster? { channels.roster(of: id) }

    mutating func nextSocket() -> SocketTag {
        lastSocket += 1
        return SocketTag(rawValue: lastSocket)
    }

    mutating func nextAuthorization() -> AuthorizationTag {
        lastAuthorization += 1
        return AuthorizationTag(rawValue: lastAuthorization)
    }
}
