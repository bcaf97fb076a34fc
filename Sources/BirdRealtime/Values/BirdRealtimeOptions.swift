public import RealtimeCore
public import SystemTLS
public import WebSocketCore

/// What a client is told before it starts. Times are in seconds.
///
/// The initialiser holds what most programs need; everything else is a field with a working default. Unusable
/// options do not stop the process: the client goes to `failed` and says why on `onError`. Call ``validate()`` to
/// hear it at start-up instead.
public struct BirdRealtimeOptions: Sendable {
    /// The key of the application, as the dashboard shows it. Not a secret.
    public var appKey: String
    /// The region of the application, such as `us1` or `eu1`. Not needed when ``wsHost`` is given.
    public var region: String?
    /// A host of your own, `name` or `name:port`, in place of a region.
    public var wsHost: String?
    /// The URL of your backend's authorization of private, presence and encrypted channels.
    public var authEndpoint: String?
    /// Headers of both authorization requests.
    public var authHeaders: [String: String]
    /// Authorizes channels in place of ``authEndpoint``.
    public var authorizer: Authorizer?
    /// The URL of your backend's authorization of sign-ins.
    public var memberAuthEndpoint: String?
    /// Authorizes sign-ins in place of ``memberAuthEndpoint``.
    public var memberAuthorizer: MemberAuthorizer?
    /// Silence of the service, in seconds, after which the client asks for a sign of life; a value in the service's
    /// handshake takes its place for that connection. Default: 120.
    public var activityTimeout: Double
    /// How long to wait for that sign, in seconds, before the connection counts as dead. Default: 30.
    public var pongTimeout: Double
    /// Plain `ws://` to `localhost`, `127.0.0.1` or `[::1]`; every other host stays on TLS. Default: false.
    public var allowInsecure: Bool

    // MARK: Beside the initialiser

    /// Whether the client begins to connect when it is made. Default: true. With false, call `connect()`.
    public var autoConnect = true
    /// The limit, in seconds, for name lookup, TCP, TLS, upgrade and handshake event together. Default: 30.
    public var connectTimeout: Double = 30
    /// The limit of one authorization request to an endpoint, in seconds. Default: 10. Authorizers that are closures
    /// keep their own time.
    public var authTimeout: Double = 10
    /// Headers asked for before each authorization request; they win over ``authHeaders`` of the same name. What it
    /// throws counts as a failed authorization.
    public var authHeadersProvider: AuthHeadersProvider?
    /// Waits between attempts, and what to do about close codes. A `rule` in it decides while the client is locked: it may
    /// not call the client.
    public var reconnectPolicy = ReconnectPolicy()
    /// Which certificates to trust, for the WebSocket and for `https` endpoints.
    public var tls = TLSOptions()
    /// Further headers of the WebSocket's upgrade request. Headers of the handshake itself cannot be set.
    public var headers: [(name: String, value: String)] = []
    /// Set to offer permessage-deflate (RFC 7692). Default: nil, no compression: small events gain little, and each
    /// connection pays memory for two windows.
    public var permessageDeflate: DeflateOptions?
    /// Bytes of event data that may wait for handlers (each event counts 64 bytes more than its name and data). Default:
    /// 64 MiB. Beyond it the newest events are dropped and
    /// counted, and `onError` hears of the first of each run.
    public var maxPendingDeliveryBytes = 64 << 20
    /// Where handlers run. Default: on the delivery queue.
    public var delivery = HandlerDelivery.onQueue
    /// The clock of every timer of this client. Default: nil, the system's, which counts time spent suspended.
    public var clock: (any RealtimeClock)?
    /// Makes the random waits repeatable. Default: nil, drawn from the system.
    public var randomSeed: UInt64?
    /// Hears what the client does, on any thread; it must return soon and may not call the client. Default: nil.
    public var log: (@Sendable (RealtimeLogEntry) -> Void)?

    /// Options with the values most programs need. A place is needed: `region` or `wsHost`.
    public init(
        appKey: String,
        region: String? = nil,
        wsHost: String? = nil,
        authEndpoint: String? = nil,
        authHeaders: [String: String] = [:],
        authorizer: Authorizer? = nil,
        memberAuthEndpoint: String? = nil,
        memberAuthorizer: MemberAuthorizer? = nil,
        activityTimeout: Double = 120,
        pongTimeout: Double = 30,
        allowInsecure: Bool = false
    ) {
        self.appKey = appKey
        self.region = region
        self.wsHost = wsHost
        self.authEndpoint = authEndpoint
        self.authHeaders = authHeaders
        self.authorizer = authorizer
        self.memberAuthEndpoint = memberAuthEndpoint
        self.memberAuthorizer = memberAuthorizer
        self.activityTimeout = activityTimeout
        self.pongTimeout = pongTimeout
        self.allowInsecure = allowInsecure
    }
}

/// Where the handlers of a client run.
public struct HandlerDelivery: Sendable, Hashable {
    private enum Choice { case queue, inline }
    private let choice: Choice

    /// On the `deliveryQueue` of the client.
    public static let onQueue = HandlerDelivery(choice: .queue)
    /// On the thread that reads the socket, without a hop: the least delay. A slow handler then holds up every
    /// client of the process; handlers must not block.
    public static let inline = HandlerDelivery(choice: .inline)

    var isInline: Bool { choice == .inline }
}

/// One line of a client's log.
public struct RealtimeLogEntry: Sendable {
    /// How much an entry matters.
    public enum Level: String, Sendable, Hashable, CaseIterable {
        /// For somebody who looks for a fault.
        case debug
        /// Ordinary steps: connecting, connected.
        case info
        /// Something failed; the client goes on.
        case warning
        /// Something failed that the client does not mend by itself.
        case error
    }

    /// How much this entry matters.
    public var level: Level
    /// What happened. It holds no secrets: neither signatures nor header values.
    public var message: String
}
