import Foundation
import RealtimeCore
import WebSocketClient
import WebSocketCore

/// Opens the sockets of a client with WebSocketClient, on the thread that reads all of them.
struct WebSocketConnector: SocketConnector {
    /// nil when the options are unusable; no socket is asked for then.
    let endpoint: Endpoint?
    let options: WebSocketOptions

    init(_ endpoint: Endpoint?, _ options: BirdRealtimeOptions) {
        self.endpoint = endpoint
        var socket = WebSocketOptions()
        for (name, value) in options.headers { socket.headers.append(name, value) }
        socket.deflate = options.permessageDeflate
        socket.tls = options.tls
        // The machine's own limit covers the handshake event too. This one comes a little before it, because it knows
        // which step took so long.
        socket.connectTimeout = (Duration(finiteSeconds: options.connectTimeout) ?? .zero) * 0.99
        // Subscriptions of many channels leave in one burst, and no message may be lost.
        socket.writeHighWater = 64 << 20
        self.options = socket
    }

    func open(_ link: SocketLink) -> any RealtimeSocket {
        OpenSocket(
            handle: WebSocketHandle.connect(
                to: endpoint?.url ?? "", options: options, handler: SocketReporter(link)))
    }
}

private struct OpenSocket: RealtimeSocket {
    let handle: WebSocketHandle

    func send(_ text: [UInt8]) {
        // A peer that has not read 64 MiB will not read on: better a new connection than a lost message.
        if handle.send(.text, text) == .congested { handle.abort() }
    }

    func close(code: Int, reason: String, waitForPeer: Bool) {
        handle.close(UInt16(exactly: code).map(CloseCode.init), reason: reason)
        if !waitForPeer { handle.abort() }
    }
}

/// Tells the engine what happens on its socket.
private final class SocketReporter: WebSocketHandler {
    private let link: SocketLink

    init(_ link: SocketLink) { self.link = link }

    func opened(_ agreement: WebSocketAgreement, _ handle: WebSocketHandle) { link.opened() }

    func received(_ kind: MessageKind, _ bytes: RawSpan, _ handle: WebSocketHandle) {
        link.received(bytes, isText: kind == .text)
    }

    func ended(_ end: WebSocketEnd) {
        if end.wasOpen {
            link.ended(SocketEnd(end))
        } else {
            link.failed(AttemptFailure(end.error))
        }
        link.gone()
    }
}

extension SocketEnd {
    init(_ end: WebSocketEnd) {
        if let frame = end.closeInfo.received {
            self.init(.closeFrame, code: frame.code.map { Int($0.rawValue) }, reason: frame.reason)
            return
        }
        let kind: Kind =
            switch end.error?.kind {
            case .violation: .violation
            case .transport where end.error?.systemError == nil, nil:
                end.closeInfo.isTruncated ? .truncated : .endOfStream
            default: .transport
            }
        self.init(kind, reason: end.error?.message ?? "")
    }
}

extension AttemptFailure {
    init(_ error: WebSocketError?) {
        let phase: Phase =
            switch error?.phase {
            case .resolving: .resolve
            case .securing: .tls
            case .upgrading: .upgrade
            case .connecting, .closing, .open, nil: error?.kind == .tls ? .tls : .connect
            }
        let message = error?.kind == .timeout ? "connectTimeout expired" : error?.message ?? "no connection"
        let retryAfter = error?.refusal?.fields["Retry-After"]
            .flatMap { RetryAfter.parse($0, unixTime: Int64(Date().timeIntervalSince1970)) }
        self.init(phase, message, httpStatus: error?.refusal?.status, retryAfter: retryAfter)
    }
}
