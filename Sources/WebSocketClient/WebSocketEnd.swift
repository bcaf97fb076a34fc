public import WebSocketCore

/// How a connection ended: both close frames, who was first, and what the application is to see.
public struct CloseInfo: Sendable, Equatable {
    /// One end of the connection.
    public enum Side: Sendable {
        case local
        case remote
    }

    /// The close frame received; nil where there was none.
    public var received: CloseFrame?
    /// The close frame sent; nil where there was none.
    public var sent: CloseFrame?
    /// Whose close frame was first; nil where there was none.
    public var initiator: Side?
    /// TLS ended without saying so: what came last may have been cut off by somebody between.
    public var isTruncated = false

    /// Of a connection without any close frame.
    public init() {}

    /// Both close frames went over the wire (RFC 6455 §7.1.4).
    public var isClean: Bool { received != nil && sent != nil }

    /// The code as RFC 6455 §7.1.5 has it: the received one, 1005 for a frame without, 1006 for no frame.
    public var code: CloseCode {
        guard let received else { return .abnormalClosure }
        return received.code ?? .noStatusReceived
    }

    /// The reason received; empty where there was none.
    public var reason: String { received?.reason ?? "" }
}

/// The end of a connection, told once.
public struct WebSocketEnd: Sendable {
    /// The close frames, and what they come to.
    public var closeInfo: CloseInfo
    /// What went wrong; nil after a closing handshake.
    public var error: WebSocketError?
    /// Whether the connection had been open.
    public var wasOpen: Bool
}
