/// The realtime protocol of one client, as a pure value: inputs with the moment at which they happened go in, actions
/// come out in the order in which they are to be carried out. After every input the shell arms one timer for
/// `nextDeadline` and calls `advance(to:)` when it is due (an early or a late call does no harm).
package struct RealtimeMachine: Sendable {
    package let configuration: RealtimeConfiguration

    package init(configuration: RealtimeConfiguration) { self.configuration = configuration }

    // MARK: What getters read

    package var phase: ConnectionPhase { .initialized }
    package var connectionID: String? { nil }
    /// The error that led to `failed`, for observers that register late.
    package var terminalError: ErrorReport? { nil }
    /// How the last connection that had been `connected` ended.
    package var lastDisconnect: SocketEnd? { nil }
    package var identity: SignedInIdentity? { nil }
    package var lastPingRoundTrip: Duration? { nil }
    package var ignoredMessageCount: Int { 0 }
    package var nextDeadline: BootTime? { nil }
    /// What the watchlist said since the signin of this connection: the snapshot for a handler that binds late.
    package var watchlistSnapshot: [WatchlistEvent] { [] }
    package func channelID(named name: String) -> ChannelID? { nil }
    package func isSubscribed(_ id: ChannelID) -> Bool { false }
    package func roster(of id: ChannelID) -> PresenceRoster? { nil }

    // MARK: App calls

    package mutating func connect(at now: BootTime, into actions: inout [Action]) {}
    package mutating func disconnect(at now: BootTime, into actions: inout [Action]) {}
    /// Ends a wait for the next attempt; does nothing in any other state.
    package mutating func retryNow(at now: BootTime, into actions: inout [Action]) {}
    /// Idempotent: the id of the channel object of this name.
    package mutating func subscribe(_ name: String, into actions: inout [Action]) -> ChannelID {
        ChannelID(rawValue: 0)
    }
    /// The id of the object that died; nil when there was none.
    package mutating func unsubscribe(_ name: String, into actions: inout [Action]) -> ChannelID? { nil }
    /// Checks, then sends. False, and nothing is sent, while the channel is not subscribed.
    package mutating func trigger(
        _ event: String, on id: ChannelID, named name: String, data: [UInt8]?, into actions: inout [Action]
    ) throws(ClientEventError) -> Bool { false }
    package mutating func signin(_ waiter: WaiterID, into actions: inout [Action]) {}
    package mutating func cancelSignin(_ waiter: WaiterID, into actions: inout [Action]) {}

    // MARK: Socket

    /// The upgrade is done; the handshake event is still to come.
    package mutating func socketOpened(_ socket: SocketTag, at now: BootTime, into actions: inout [Action]) {}
    package mutating func attemptFailed(
        _ socket: SocketTag, _ failure: AttemptFailure, at now: BootTime, into actions: inout [Action]
    ) {}
    package mutating func socketEnded(
        _ socket: SocketTag, _ end: SocketEnd, at now: BootTime, into actions: inout [Action]
    ) {}
    /// A message. Everything but an application event turns into actions; an application event is returned as ranges
    /// into `message`, before anything is copied, and adds no action. `isText` false: UTF-8 is checked here.
    package mutating func receive(
        _ message: RawSpan, isText: Bool = true, on socket: SocketTag, at now: BootTime,
        into actions: inout [Action]
    ) -> InboundEvent? { nil }

    // MARK: Authorizers

    package mutating func channelAuthorized(
        _ tag: AuthorizationTag, _ result: Result<ChannelAuthorization, AuthorizationFailure>,
        into actions: inout [Action]
    ) {}
    package mutating func memberAuthorized(
        _ tag: AuthorizationTag, _ result: Result<MemberAuthorization, AuthorizationFailure>,
        into actions: inout [Action]
    ) {}

    // MARK: Time

    package mutating func advance(to now: BootTime, into actions: inout [Action]) {}
}
