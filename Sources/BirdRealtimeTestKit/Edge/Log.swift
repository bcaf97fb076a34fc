internal import RealtimeCore

extension LoopbackEdge {
    /// Everything that an edge saw and did, in order. A value: what happens later does not change it.
    public struct Log: Sendable {
        /// The entries that are kept, the oldest first.
        public internal(set) var entries: [Entry] = []
        /// How many entries went because of ``Configuration/maxLogEntries``.
        public internal(set) var droppedEntries = 0
    }

    /// One thing that happened.
    public enum Entry: Sendable {
        /// TCP was accepted. Connections count from 1; the auth backend's are not among them.
        case accepted(connection: Int)
        /// The upgrade was answered with 101.
        case upgraded(connection: Int, request: UpgradeRequest)
        /// The connection was refused before it became a WebSocket.
        case refused(connection: Int, reason: String)
        /// A message passed.
        case message(Message)
        /// A ping, pong or close frame passed.
        case control(ControlFrame)
        /// The client broke a rule of the dialect and was told so with this code.
        case violation(connection: Int, code: Int, message: String)
        /// A fault was injected.
        case injected(connection: Int, Fault)
        /// The connection is over.
        case ended(connection: Int, End)
        /// A request for an authorization came.
        case authRequested(AuthRequest)
        /// The auth backend answered a request, or let it down on purpose.
        case auth(AuthExchange)
    }

    /// Which way something went.
    public enum Direction: Sendable, Hashable {
        /// From the client to the edge.
        case received
        /// From the edge to the client.
        case sent
    }

    /// The request that opened a WebSocket.
    public struct UpgradeRequest: Sendable {
        /// The request target, query included.
        public var target: String
        /// The header fields in their order.
        public var headers: [(name: String, value: String)]
    }

    /// A message, with what its envelope says.
    public struct Message: Sendable, Hashable {
        /// Which connection carried it.
        public let connection: Int
        /// Which way it went.
        public let direction: Direction
        /// The whole text.
        public let text: String
        /// The event's name; nil for a text that is not of the dialect.
        public let event: String?
        /// The channel, from the envelope or, in `bird:subscribe` and `bird:unsubscribe`, from the data.
        public let channel: String?
    }

    /// A control frame (RFC 6455 §5.5).
    public struct ControlFrame: Sendable, Hashable {
        /// What a control frame is.
        public enum Kind: Sendable, Hashable {
            case ping([UInt8])
            case pong([UInt8])
            case close(code: UInt16?, reason: String)
        }
        /// Which connection carried it.
        public var connection: Int
        /// Which way it went.
        public var direction: Direction
        /// What it was.
        public var kind: Kind
    }

    /// How a connection ended.
    public enum End: Sendable, Hashable {
        /// With a closing handshake; the codes of both sides, nil for a frame without one or no frame.
        case closed(sent: UInt16?, received: UInt16?)
        /// The client's stream ended without a close frame.
        case endOfStream
        /// The socket failed, or the client reset it.
        case failed(String)
        /// The client broke RFC 6455 and was closed with this code.
        case violation(UInt16, String)
        /// By a fault of the script, or by `stop()`.
        case dropped
    }

    /// A request to the auth backend and what became of it.
    public struct AuthExchange: Sendable {
        /// What was asked.
        public var request: AuthRequest
        /// The answer's status; 0 when none was sent.
        public var status: Int
        /// The answer's body.
        public var answer: String
    }
}

extension LoopbackEdge.Log {
    /// The messages that clients sent, in order; of one event name, channel or connection where given.
    public func received(_ event: String? = nil, channel: String? = nil, on connection: Int? = nil)
        -> [LoopbackEdge.Message]
    {
        messages(.received, event, channel, connection)
    }

    /// The messages that the edge sent, in order; of one event name, channel or connection where given.
    public func sent(_ event: String? = nil, channel: String? = nil, on connection: Int? = nil)
        -> [LoopbackEdge.Message]
    {
        messages(.sent, event, channel, connection)
    }

    /// The ping, pong and close frames that passed one way.
    public func controlFrames(_ direction: LoopbackEdge.Direction, on connection: Int? = nil)
        -> [LoopbackEdge.ControlFrame.Kind]
    {
        entries.compactMap { entry in
            guard case .control(let frame) = entry, frame.direction == direction,
                connection == nil || frame.connection == connection
            else { return nil }
            return frame.kind
        }
    }

    /// The exchanges with the auth backend; for one channel where given.
    public func authExchanges(channel: String? = nil) -> [LoopbackEdge.AuthExchange] {
        entries.compactMap { entry in
            guard case .auth(let exchange) = entry,
                channel == nil || exchange.request.channel == channel
            else { return nil }
            return exchange
        }
    }

    /// The rules that clients broke, as (code, message).
    public var violations: [(code: Int, message: String)] {
        entries.compactMap { entry in
            guard case .violation(_, let code, let message) = entry else { return nil }
            return (code, message)
        }
    }

    /// How many connections were accepted.
    public var acceptedConnections: Int {
        entries.count { if case .accepted = $0 { true } else { false } }
    }

    /// How many connections became WebSockets.
    public var upgradedConnections: Int {
        entries.count { if case .upgraded = $0 { true } else { false } }
    }

    /// How the k-th connection ended; nil while it lives.
    public func end(ofConnection number: Int) -> LoopbackEdge.End? {
        for case .ended(number, let end) in entries { return end }
        return nil
    }

    private func messages(
        _ direction: LoopbackEdge.Direction, _ event: String?, _ channel: String?, _ connection: Int?
    ) -> [LoopbackEdge.Message] {
        entries.compactMap { entry in
            guard case .message(let message) = entry, message.direction == direction,
                event == nil || message.event == event,
                channel == nil || message.channel == channel,
                connection == nil || message.connection == connection
            else { return nil }
            return message
        }
    }
}

extension LoopbackEdge.Message {
    init(connection: Int, direction: LoopbackEdge.Direction, text: String) {
        self.connection = connection
        self.direction = direction
        self.text = text
        let bytes = Array(text.utf8)
        guard let envelope = try? Envelope(scanning: bytes.span.bytes) else {
            event = nil
            channel = nil
            return
        }
        let event = envelope.event.string(in: bytes.span.bytes)
        let isAboutChannel = event == "bird:subscribe" || event == "bird:unsubscribe"
        self.event = event
        channel =
            envelope.channel?.string(in: bytes.span.bytes)
            ?? (isAboutChannel ? JSONValue(parsing: bytes)?["data"]?["channel"]?.string : nil)
    }

    /// The JSON text of the data, a string that holds JSON resolved to what it holds; nil without data. Parsed at each
    /// call.
    public var data: String? {
        guard let data = JSONValue(parsing: Array(text.utf8))?["data"] else { return nil }
        let inner = data.string.flatMap { JSONValue(parsing: Array($0.utf8)) } ?? data
        return String(decoding: inner.text, as: UTF8.self)
    }
}
