import Synchronization
import WebSocketClient

/// Sends back what comes, on the loop's thread, and reads no further while the peer takes nothing.
final class Echo: WebSocketHandler {
    private let onEnd: @Sendable (WebSocketEnd) -> Void
    /// The one message that found no room.
    private let held = Mutex<(kind: MessageKind, bytes: [UInt8])?>(nil)

    init(onEnd: @escaping @Sendable (WebSocketEnd) -> Void) {
        self.onEnd = onEnd
    }

    func opened(_ agreement: WebSocketAgreement, _ link: WebSocketHandle) {}

    func received(_ kind: MessageKind, _ bytes: RawSpan, _ link: WebSocketHandle) {
        guard case .congested = link.send(kind, bytes) else { return }
        let copy = bytes.withUnsafeBytes { Array($0) }
        held.withLock { $0 = (kind, copy) }
        link.pauseReading()
    }

    func writable(_ link: WebSocketHandle) {
        let message = held.withLock { $0.take() }
        if let message { link.send(message.kind, message.bytes) }
        link.resumeReading()
    }

    func ended(_ end: WebSocketEnd) {
        onEnd(end)
    }
}
