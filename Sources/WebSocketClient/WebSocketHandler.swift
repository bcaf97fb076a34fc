public import WebSocketCore

/// What happens on a connection, told on the event loop's thread: the fastest way to receive.
///
/// All calls for one connection come from one thread, one after the other; none may block. `opened` comes first, `ended`
/// last and exactly once, also for a connection that was never open. A handler is kept until `ended` has returned.
public protocol WebSocketHandler: AnyObject, Sendable {
    /// The opening handshake is complete.
    func opened(_ agreement: WebSocketAgreement, _ link: WebSocketHandle)

    /// A message. The bytes are lent for the call. Text has been checked to be UTF-8.
    func received(_ kind: MessageKind, _ bytes: RawSpan, _ link: WebSocketHandle)

    /// A piece of a message, where `WebSocketOptions.streamsMessages` is set. Text may be cut inside a character.
    func receivedFragment(
        _ kind: MessageKind, _ bytes: RawSpan, isFirst: Bool, isFinal: Bool, _ link: WebSocketHandle)

    /// The burst of messages that one wake-up brought is over: the moment to hand on what was gathered.
    func paused(_ link: WebSocketHandle)

    /// The unsent bytes have fallen below `writeLowWater` after they had been above `writeHighWater`.
    func writable(_ link: WebSocketHandle)

    /// Nothing comes after this.
    func ended(_ end: WebSocketEnd)
}

extension WebSocketHandler {
    /// Drops the piece; for handlers of whole messages.
    public func receivedFragment(
        _ kind: MessageKind, _ bytes: RawSpan, isFirst: Bool, isFinal: Bool, _ link: WebSocketHandle
    ) {}
    /// Does nothing.
    public func paused(_ link: WebSocketHandle) {}
    /// Does nothing.
    public func writable(_ link: WebSocketHandle) {}
}
