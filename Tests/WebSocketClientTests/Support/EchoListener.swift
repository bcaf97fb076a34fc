import WebSocketClient

/// Sends back what it receives.
final class EchoHandler: WebSocketHandler {
    func opened(_ agreement: WebSocketAgreement, _ link: WebSocketHandle) {}
    func received(_ kind: MessageKind, _ bytes: RawSpan, _ link: WebSocketHandle) { link.send(kind, bytes) }
    func ended(_ end: WebSocketEnd) {}
}

/// Listens with an echo behind each connection.
func listenEcho(
    identity: LoopbackIdentity? = nil, _ change: (inout WebSocketOptions) -> Void = { _ in }
) async throws -> WebSocketListener {
    var options = WebSocketListener.Options()
    change(&options.connection)
    options.identity = identity.map { ($0.certificateChainPEM, $0.privateKeyPEM) }
    return try await WebSocketListener.listen(options: options) { _ in .accept(EchoHandler()) }
}
