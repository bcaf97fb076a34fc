public import Dispatch
import RealtimeCore

/// A client of Bird Realtime: one WebSocket, kept up, with channels on it.
///
/// ```swift
/// let bird = BirdRealtime(options: BirdRealtimeOptions(appKey: "key", region: "us1"))
/// bird.subscribe("news").bind("published") { data in print(data ?? "nothing") }
/// ```
///
/// It begins to connect when it is made. Every method may be called from any thread, also inside handlers. Handlers
/// run on the delivery queue, one after the other, in the order in which things happened. When the last reference to
/// the client goes, the socket is closed and everything is freed; a program that wants to go on hearing events keeps
/// a reference.
public final class BirdRealtime: Sendable {
    /// The version of this library, as the service is told.
    public static let version = "1.0.0"

    /// The key of the application.
    public let appKey: String

    /// Events for the signed-in member. Handlers can be bound before ``signin()``.
    public let member: MemberEvents

    let engine: Engine

    /// A client with these options, whose handlers run on `deliveryQueue`.
    ///
    /// Unusable options lead to the state `failed`, and `onError` says what to mend.
    public init(options: BirdRealtimeOptions, deliveryQueue: DispatchQueue = .main) {
        appKey = options.appKey
        let parts = EngineParts(options, deliveryQueue: deliveryQueue)
        member = parts.member
        engine = Engine(parts)
        if options.autoConnect { engine.connect() }
    }

    init(_ parts: EngineParts, appKey: String, autoConnect: Bool) {
        self.appKey = appKey
        member = parts.member
        engine = Engine(parts)
        if autoConnect { engine.connect() }
    }

    deinit {
        engine.shutDown()
    }

    // MARK: State

    /// Where the connection stands. It shows what ``connect()`` and ``disconnect()`` did as soon as they return.
    public var connectionState: ConnectionState { ConnectionState(engine.phase) }

    /// The id the service gave to this connection; nil while there is none.
    public var connectionId: String? { engine.connectionID }

    /// Who this connection is signed in as; nil before a sign-in, and again when its connection goes.
    public var signedInMember: SignedInMember? { engine.signedInMember }

    /// Calls `handler` with the previous and the new state at each change from now on.
    @discardableResult
    public func onConnectionStateChange(
        _ handler: @escaping @Sendable (_ previous: ConnectionState, _ current: ConnectionState) -> Void
    ) -> BindingToken {
        engine.stateObservers.add { handler($0.previous, $0.current) }.observer.token
    }

    /// Calls `handler` with errors of the connection and of the service that no channel was given. One that registers
    /// while the client is `failed` is told why.
    @discardableResult
    public func onError(_ handler: @escaping @Sendable (RealtimeError) -> Void) -> BindingToken {
        engine.observeErrors(handler)
    }

    /// Calls `handler` when signing in again after a reconnect failed.
    @discardableResult
    public func onSigninError(_ handler: @escaping @Sendable (any Error) -> Void) -> BindingToken {
        engine.signinErrorObservers.add(handler).observer.token
    }

    // MARK: Connection

    /// Connects from `initialized`, `disconnected` and `failed`; while `unavailable`, ends the wait and connects now.
    /// Does nothing while connecting or connected.
    public func connect() { engine.connect() }

    /// Closes the connection; nothing happens after it until ``connect()``. Channels and handlers are kept.
    public func disconnect() { engine.disconnect() }

    // MARK: Channels

    /// The channel of this name, subscribed on this connection and on every later one until ``unsubscribe(_:)``.
    ///
    /// There is one object per name: `private-…` gives a ``PrivateChannel``, `presence-…` a ``PresenceChannel``,
    /// `private-encrypted-…` an ``EncryptedChannel``. Calling it again is free, and tries again what had failed.
    @discardableResult
    public func subscribe(_ channelName: String) -> Channel { engine.subscribe(channelName) }

    /// Ends the subscription. No handler of the channel is called any more, on the delivery queue from here on. The
    /// next ``subscribe(_:)`` of the name gives a new object.
    public func unsubscribe(_ channelName: String) { engine.unsubscribe(channelName) }

    /// The channel of this name, if it is subscribed or about to be.
    public func channel(_ channelName: String) -> Channel? { engine.channel(named: channelName) }

    // MARK: Member

    /// Signs in as the member the backend names. From then on the client signs in again on every new connection.
    ///
    /// Calls at the same time share one authorization and one result. It waits for a connection while one is being
    /// made.
    ///
    /// - Throws: What the member authorizer threw; ``RealtimeAuthError`` of the endpoint; ``RealtimeError`` when the
    ///   service refused, the connection went, or the client is `failed` or `disconnected`; `CancellationError` when
    ///   the task was cancelled (the sign-in itself goes on).
    @discardableResult
    public func signin() async throws -> SignedInMember { try await engine.signin() }
}
