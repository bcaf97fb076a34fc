import Foundation
import WebSocketClient

/// Many connections that do nothing.
enum Idle {
    private final class Handler: WebSocketHandler {
        private let opened: @Sendable (Bool) -> Void

        init(_ opened: @escaping @Sendable (Bool) -> Void) {
            self.opened = opened
        }

        func opened(_ agreement: WebSocketAgreement, _ link: WebSocketHandle) { opened(true) }
        func received(_ kind: MessageKind, _ bytes: RawSpan, _ link: WebSocketHandle) {}
        func ended(_ end: WebSocketEnd) { if !end.wasOpen { opened(false) } }
    }

    static func run(_ url: String, count: Int) async throws {
        let before = Measure.residentKiB
        var handles: [WebSocketHandle] = []
        for _ in 0..<count {
            let isOpen = await withCheckedContinuation { continuation in
                handles.append(
                    WebSocketHandle.connect(
                        to: url, options: Measure.options,
                        handler: Handler { continuation.resume(returning: $0) }))
            }
            guard isOpen else { throw Failure("a connection was not made") }
        }
        let grown = Double(Measure.residentKiB - before) / Double(count)
        print("{\"connections\":\(handles.count),\"rss_kib_per_conn\":\(grown)}")
    }
}
