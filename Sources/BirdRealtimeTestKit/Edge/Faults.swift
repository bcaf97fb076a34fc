extension LoopbackEdge {
    /// What can be done to an open connection, at once (``LoopbackEdge/inject(_:into:)``) or planned
    /// (``ConnectionPlan/afterHandshake``).
    public enum Fault: Sendable, Hashable {
        /// Sends a close frame, with a code (any number) or with none, and ends the connection when the client has
        /// answered or closed the socket.
        case close(code: UInt16?, reason: String = "")
        /// Drops TCP with a reset (RST). Nothing is said before.
        case reset
        /// Ends the stream with a FIN, without a close frame.
        case finish
        /// Reads and writes no more, and keeps the socket open: the network cable is cut. See also ``resume``.
        case blackHole
        /// Ends ``blackHole``: what was held goes out, what came is read.
        case resume
        /// Answers neither `bird:ping` nor WebSocket pings from here on.
        case ignorePings
        /// Neither answers the client's close frame nor closes the socket because of it.
        case ignoreClose
        /// Takes `bird:subscribe` without a word from here on; nothing is subscribed.
        case ignoreSubscriptions
        /// Puts bytes onto the stream as they are, between two frames.
        case bytes([UInt8])
        /// A text frame with any content.
        case text(String)
        /// A `bird:error` event; nil leaves the member out.
        case error(code: Int?, message: String?)
        /// A `bird:ping` event.
        case ping
        /// A WebSocket ping frame.
        case pingFrame([UInt8] = [])
    }

    /// Which connections are meant.
    public enum Target: Sendable, Hashable {
        /// Every open connection.
        case all
        /// The k-th connection that the edge accepted, counting from 1, while it is open or closing.
        case connection(Int)
        /// The connection with this connection id, while it is open or closing.
        case connectionID(String)
    }

    /// How a connection is handled from its first byte on.
    public struct ConnectionPlan: Sendable {
        /// Refuse it before it becomes a WebSocket. Default nil.
        public var refusal: Refusal?
        /// What happens to the handshake event. Default ``HandshakeEvent/normal``.
        public var handshake = HandshakeEvent.normal
        /// How the bytes are cut, from the answer to the upgrade on. Default ``WriteShape/whole``.
        public var writes = WriteShape.whole
        /// What to do, in this order, when the handshake event is out (or was withheld). Default nothing.
        public var afterHandshake: [Fault] = []

        /// A connection without faults.
        public init() {}

        /// A connection that is refused.
        public static func refuse(_ refusal: Refusal) -> ConnectionPlan {
            var plan = ConnectionPlan()
            plan.refusal = refusal
            return plan
        }

        /// A connection with faults as soon as it is established.
        public static func afterHandshake(_ faults: Fault...) -> ConnectionPlan {
            var plan = ConnectionPlan()
            plan.afterHandshake = faults
            return plan
        }

        /// A connection whose handshake event is not the normal one.
        public static func handshake(_ event: HandshakeEvent) -> ConnectionPlan {
            var plan = ConnectionPlan()
            plan.handshake = event
            return plan
        }
    }

    /// How a connection does not become a WebSocket.
    public enum Refusal: Sendable {
        /// A reset right after TCP's handshake.
        case reset
        /// Something that is not TLS, where TLS was to begin; a reset on a plain edge.
        case tlsFailure
        /// Nothing is ever read or answered.
        case silence
        /// An HTTP answer to the upgrade, such as 401, 403, 429, 500 or 503.
        case status(Int, headers: [(name: String, value: String)] = [], body: String = "")
        /// These bytes as the answer to the upgrade, then the end of the stream.
        case answer([UInt8])
    }

    /// What happens to `bird:connection_established`.
    public enum HandshakeEvent: Sendable, Hashable {
        /// Sent at once.
        case normal
        /// Never sent.
        case missing
        /// Sent when ``LoopbackEdge/releaseHandshakes()`` is called.
        case held
        /// Sent after a while.
        case late(Duration)
        /// Sent so many times.
        case repeated(Int)
        /// This text is sent in its place.
        case text(String)
    }

    /// How outgoing bytes are cut.
    public enum WriteShape: Sendable, Hashable {
        /// As they come.
        case whole
        /// Pieces of so many bytes, each in a write of its own.
        case pieces(Int)
        /// Pieces of so many bytes, with a pause after each.
        case drip(Int, every: Duration)
        /// The answer to the upgrade, the handshake event and what follows from the plan leave in one write.
        case glued
    }

    /// What the auth backend does in place of its duty.
    public enum AuthFault: Sendable, Hashable {
        /// An answer with this status, such as 403 or 500.
        case status(Int, contentType: String = "text/plain", body: String = "")
        /// A login page with status 200.
        case html
        /// The right answer, when ``LoopbackEdge/releaseAuth()`` is called.
        case held
        /// The right answer after a while.
        case slow(Duration)
        /// A reset in place of an answer.
        case reset
        /// The answer's head and half of its body, then the end of the stream.
        case truncated
        /// A signature made with another secret.
        case wrongSignature
        /// A JSON object without `auth`.
        case missingAuth
    }
}
