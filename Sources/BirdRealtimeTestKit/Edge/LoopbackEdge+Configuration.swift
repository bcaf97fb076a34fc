extension LoopbackEdge {
    /// How an edge is set up. Every field has a working default.
    public struct Configuration: Sendable {
        /// The application key that clients connect with; any other one is refused with code 4001.
        public var appKey = "loopback-key"

        /// What the edge's auth backend signs with, and what the edge checks signatures against.
        public var appSecret = "loopback-secret"

        /// `wss` and `https` instead of `ws` and `http`, with a certificate of an authority that each edge makes for
        /// itself (``LoopbackEdge/certificateAuthorityPEM``). Default false.
        public var isSecure = false

        /// The certificate of a secure edge. Default ``Certificate/valid``.
        public var certificate = Certificate.valid

        /// The loopback address to listen on, `127.0.0.1` (the default) or `::1`.
        public var host = "127.0.0.1"

        /// The port for WebSockets; 0, the default, lets the kernel choose.
        public var port: UInt16 = 0

        /// The port of the auth backend; 0, the default, lets the kernel choose.
        public var authPort: UInt16 = 0

        /// The `activity_timeout` of the handshake event, in seconds; nil leaves it out. Default 120.
        public var activityTimeout: Int? = 120

        /// The `data` of what the edge sends is a JSON text inside a string, as the service sends it; false sends
        /// plain JSON values. Default true.
        public var encodesDataAsString = true

        /// Tell the subscribers of a public, private or encrypted channel how many connections it has, whenever that
        /// changes. Default true.
        public var sendsConnectionCount = true

        /// Who a client is: asked by the auth backend for each presence channel and each sign-in. By default the
        /// member's id is the request's `x-member-id` header, or `loopback-member` without one.
        public var member: @Sendable (AuthRequest) -> Member = { request in
            Member(id: request.header("x-member-id") ?? "loopback-member")
        }

        /// The `shared_secret` of the answer for an encrypted channel, in base64; nil leaves it out, the default.
        public var sharedSecret: @Sendable (_ channel: String) -> String? = { _ in nil }

        /// How many log entries are kept; beyond it the oldest go. Default 100 000.
        public var maxLogEntries = 100_000

        /// The longest message a client may send, in bytes. Default 1 MiB.
        public var maxMessageBytes = 1 << 20

        /// The defaults.
        public init() {}
    }

    /// The certificate that a secure edge shows.
    public enum Certificate: Sendable, Hashable {
        /// For `127.0.0.1`, `::1` and `localhost`, signed by the edge's own authority.
        case valid
        /// Signed by the edge's authority, for a name that is not the edge's.
        case wrongName
        /// Signed by the edge's authority, and past its end.
        case expired
    }

    /// The identity that the auth backend gives to a client.
    public struct Member: Sendable, Hashable {
        /// The member's id.
        public var id: String
        /// `member_info`: any JSON text; nil leaves it out.
        public var info: String?
        /// The ids whose coming and going the member wants to hear of, once signed in.
        public var watchlist: [String]

        /// An identity.
        public init(id: String, info: String? = nil, watchlist: [String] = []) {
            self.id = id
            self.info = info
            self.watchlist = watchlist
        }
    }

    /// A request that came to the auth backend.
    public struct AuthRequest: Sendable {
        /// `POST`, for a client that works.
        public var method: String
        /// The path, `/bird/auth` or `/bird/auth/member`.
        public var path: String
        /// The header fields in their order, names as they were sent.
        public var headers: [(name: String, value: String)]
        /// The body as it was sent.
        public var body: [UInt8]
        /// The `connection_id` of the body.
        public var connectionID: String?
        /// The `channel_name` of the body; nil for a sign-in.
        public var channel: String?

        /// The value of a header field; case does not matter.
        public func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }
}
