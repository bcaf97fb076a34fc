public import WebSocketCore
import SystemIO

/// One connection, to be used from any thread. On the event loop's thread, inside a handler, calls take effect at once;
/// from elsewhere they are posted to it, in order.
///
/// Letting go of a handle does not close the connection: its handler is told of everything until it ends.
public struct WebSocketHandle: Sendable {
    let driver: WebSocketDriver

    /// What becomes of a message given to `send`.
    public enum SendResult: Sendable {
        /// It will be written in its turn.
        case queued
        /// More than `writeHighWater` bytes wait, and this was not added to them. Wait for `writable`.
        case congested
        /// The connection is not open, or no longer.
        case closed
        /// A text that is not UTF-8, or a message that cannot be compressed; nothing was sent.
        case invalid
    }

    /// Connects, and tells `handler` of all that follows.
    public static func connect(
        to url: String, options: WebSocketOptions = WebSocketOptions(), handler: any WebSocketHandler
    ) -> WebSocketHandle {
        let driver = WebSocketDriver(role: .client, settings: .init(options), handler: handler, loop: .shared)
        driver.startDialing(url, options)
        return WebSocketHandle(driver: driver)
    }

    /// Sends a text message.
    @discardableResult
    public func send(_ text: String) -> SendResult {
        send(.text, Array(text.utf8))
    }

    /// Sends a message. Text that is not UTF-8 is `invalid`.
    @discardableResult
    public func send(_ kind: MessageKind, _ bytes: [UInt8]) -> SendResult {
        driver.send(kind, bytes)
    }

    /// Sends a message out of lent bytes: on the loop's thread without a copy of its own.
    @discardableResult
    public func send(_ kind: MessageKind, _ bytes: RawSpan) -> SendResult {
        driver.send(kind, bytes)
    }

    /// Begins the closing handshake behind all that waits; while connecting, gives up.
    ///
    /// A code or reason that may not be sent is replaced by 1000 without a reason.
    public func close(_ code: CloseCode? = .normalClosure, reason: String = "") {
        driver.perform { $0.close(CloseFrame(code: code, reason: reason)) }
    }

    /// Ends the connection now, without a closing handshake.
    public func abort() {
        driver.perform { $0.abort() }
    }

    /// Pings; `completion` is called on the loop's thread with the round-trip time or why there is none.
    public func ping(_ completion: @escaping @Sendable (Result<Duration, WebSocketError>) -> Void) {
        driver.perform { $0.ping(completion) }
    }

    /// Reads no more until `resumeReading`, so that the peer has to wait.
    public func pauseReading() {
        driver.perform { $0.setReadingPaused(true) }
    }

    /// Reads on, beginning with what had arrived before the pause.
    public func resumeReading() {
        driver.perform { $0.setReadingPaused(false) }
    }
}
