import Foundation
import WebSocketClient

/// Receives messages until the close frame. Its state is touched on the event loop's thread only, and read when that is done.
final class Flood: WebSocketHandler, @unchecked Sendable {
    private var messages = 0
    private var bytes = 0
    private var span = Span()
    private let done: @Sendable (String) -> Void

    private init(_ done: @escaping @Sendable (String) -> Void) {
        self.done = done
    }

    func opened(_ agreement: WebSocketAgreement, _ link: WebSocketHandle) {
        span = Span()
    }

    func received(_ kind: MessageKind, _ bytes: RawSpan, _ link: WebSocketHandle) {
        messages &+= 1
        self.bytes &+= bytes.byteCount
    }

    func ended(_ end: WebSocketEnd) {
        let (seconds, cpu) = (span.seconds, span.cpu)
        done(
            "{\"messages\":\(messages),\"bytes\":\(bytes),\"seconds\":\(seconds),"
                + "\"msgs_per_s\":\(Double(messages) / seconds),\"MB_per_s\":\(Double(bytes) / seconds / 1e6),"
                + "\"cpu_s\":\(cpu)}")
    }

    static func run(_ url: String) async throws {
        let line = await withCheckedContinuation { continuation in
            _ = WebSocketHandle.connect(
                to: url, options: Measure.options, handler: Flood { continuation.resume(returning: $0) })
        }
        print(line)
    }
}
