public import SystemTLS
public import WebSocketCore
package import SystemIO

/// How a connection is opened and kept. The defaults work.
public struct WebSocketOptions: Sendable {
    /// Header fields added to the upgrade request. Those of the handshake itself (Host, Upgrade, Connection,
    /// Sec-WebSocket-…) cannot be set and fail with `misuse`.
    public var headers: HTTPFields = [:]
    /// Subprotocols offered, in order of preference. Default: none.
    public var subprotocols: [String] = []
    /// permessage-deflate as it is offered; nil, the default, offers none.
    public var deflate: DeflateOptions?
    /// The largest messages, frames and heads accepted.
    public var limits = Limits()
    /// How the server is verified, over `wss`.
    public var tls = TLSOptions()
    /// From the name lookup to the upgrade, all together. Default 30 seconds.
    public var connectTimeout: Duration = .seconds(30)
    /// From the first close frame to the end of the connection, whatever the peer does. Default 10 seconds.
    public var closeTimeout: Duration = .seconds(10)
    /// Pings that find out whether the peer is still there. Default nil: none.
    public var keepalive: Keepalive?
    /// Unsent bytes above which `send` waits (or, at a handle, says no). Default 1 MiB.
    public var writeHighWater = 1 << 20
    /// Unsent bytes below which waiting sends go on. Default 256 KiB.
    public var writeLowWater = 256 << 10
    /// Received bytes that wait for a reader above which the socket is no longer read. Default 1 MiB; a single message
    /// may be larger. Only for `WebSocket`; a handler is given each message at once.
    public var readHighWater = 1 << 20
    /// Whether messages are handed out in pieces as they arrive, for messages too large to be held. Default false.
    public var streamsMessages = false
    /// Looks host names up.
    package var resolver = Resolver.system

    /// The defaults.
    public init() {}

    /// Pings by the clock (RFC 6455 §5.5.2).
    public struct Keepalive: Sendable, Equatable {
        /// Silence of the peer after which it is pinged.
        public var interval: Duration
        /// How long anything at all may take to arrive after the ping; then the peer counts as dead.
        public var timeout: Duration

        /// Pings after `interval` of silence and gives up after `timeout` more.
        public init(interval: Duration = .seconds(30), timeout: Duration = .seconds(10)) {
            self.interval = interval
            self.timeout = timeout
        }
    }
}

/// What both ends agreed on in the opening handshake.
public struct WebSocketAgreement: Sendable, Equatable {
    /// The subprotocol chosen; nil where none was.
    public var subprotocol: String?
    /// The extensions agreed on, as the server wrote them; nil where there are none.
    public var extensions: String?
    /// The header fields of the server's answer, or of the client's request on the server's side.
    public var fields: HTTPFields
    /// The version of TLS; nil over `ws`.
    public var tlsVersion: String?
}
