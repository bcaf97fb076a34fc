/// What a connection found in the bytes it was given.
package enum Event: Equatable, Sendable {
    /// A whole message.
    case message(MessageKind, Payload)
    /// A piece of a message, where the connection streams. Text may be cut inside a character.
    case fragment(MessageKind, Payload, isFirst: Bool, isFinal: Bool)
    /// A ping. Its pong is in the outbox already.
    case ping(Payload)
    case pong(Payload)
    /// The peer's close frame; `code` is nil where it has none. Its answer is in the outbox already.
    case close(CloseFrame)
}

/// Where a payload lies, so that one that is contiguous in the input need not be copied.
package enum Payload: Equatable, Sendable {
    /// In the input that was given to the same call of `nextEvent`.
    case input(Range<Int>)
    /// In the connection's assembly buffer, until the next call of `nextEvent`.
    case assembled
    /// In the connection's buffer for control frames, until the next call of `nextEvent`.
    case control
}

/// What a close frame says (RFC 6455 §5.5.1).
public struct CloseFrame: Equatable, Sendable {
    /// nil where the frame is empty: what an application sees as 1005.
    public var code: CloseCode?
    /// At most 123 bytes of UTF-8; empty where none was given.
    public var reason: String

    /// A close frame; one without a code has no reason either.
    public init(code: CloseCode?, reason: String = "") {
        self.code = code
        self.reason = reason
    }
}
