import Testing
@testable import WebSocketClient

/// Against an implementation that shares no line with ours: Python's `websockets`, where WEBSOCKETS_PEER_PYTHON has one.
///
/// One at a time, and in a run of their own (scripts/test): their large messages keep the event loop busy for seconds where
/// nothing is optimized, which the deadlines of other tests would feel.
@Suite("Interoperability", .serialized, .timeLimit(.minutes(10)), .enabled(if: PythonPeer.python != nil))
struct InteropTests {
    private func connect(
        _ peer: PythonPeer, _ identity: LoopbackIdentity?, deflates: Bool
    ) async throws -> WebSocket {
        var options = WebSocketOptions()
        if let identity { options.tls.trust = .pem(identity.authorityPEM) }
        options.deflate = deflates ? DeflateOptions() : nil
        options.connectTimeout = .seconds(300)
        options.closeTimeout = .seconds(300)
        return try await WebSocket.connect(
            to: "\(identity == nil ? "ws" : "wss")://127.0.0.1:\(peer.port)/", options: options)
    }

    @Test(
        "their server echoes text, binary, nothing and 64 MiB, answers pings, and both ends close",
        arguments: [false, true], [false, true])
    func theirServer(isSecure: Bool, deflates: Bool) async throws {
        let identity = isSecure ? try LoopbackIdentity() : nil
        try await PythonPeer.run(.server, identity: identity, deflates: deflates) { peer in
            let socket = try await connect(peer, identity, deflates: deflates)
            #expect((socket.agreement.extensions != nil) == deflates)
            var messages = socket.messages.makeAsyncIterator()
            // The whole 64 MiB that limits allow, doubled up: a closure a byte takes seconds without optimization.
            var large = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 7) }
            while large.count < 64 << 20 { large += large }
            for message in [
                .text("grüße, 世界"), .text(""), .binary([]), .binary([0, 255, 1]), .binary(large),
            ] as [WebSocket.Message] {
                switch message {
                case .text(let text): try await socket.send(text)
                case .binary(let bytes): try await socket.send(bytes)
                }
                let isEqual = try await messages.next() == message
                #expect(isEqual)
            }
            _ = try await socket.ping()
            await socket.close(code: CloseCode(rawValue: 4123), reason: "enough")
            let info = try #require(socket.closeInfo)
            #expect(info.isClean && info.code.rawValue == 4123 && info.initiator == .local)

            let other = try await connect(peer, identity, deflates: deflates)
            try await other.send("close, please")
            for try await message in other.messages { Issue.record("\(message) instead of the end") }
            let end = try #require(other.closeInfo)
            #expect(end.isClean && end.code.rawValue == 4002 && end.initiator == .remote)
            #expect(end.received?.reason == "as asked")
        }
    }

    @Test(
        "their client talks to our server, and both ends close", arguments: [false, true], [false, true])
    func theirClient(isSecure: Bool, deflates: Bool) async throws {
        let identity = isSecure ? try LoopbackIdentity() : nil
        var options = WebSocketListener.Options()
        options.connection.deflate = deflates ? DeflateOptions() : nil
        options.identity = identity.map { ($0.certificateChainPEM, $0.privateKeyPEM) }
        let listener = try await WebSocketListener.listen(options: options) { _ in
            .accept(ObligingEcho())
        }
        defer { listener.close() }
        let url = "\(isSecure ? "wss" : "ws")://127.0.0.1:\(listener.port)/"
        try await PythonPeer.run(.client(url), identity: identity, deflates: deflates) { peer in
            #expect(await peer.exitCode() == 0)
        }
    }
}

/// Sends back what it receives, and closes where it is asked to.
private final class ObligingEcho: WebSocketHandler {
    func opened(_ agreement: WebSocketAgreement, _ link: WebSocketHandle) {}

    func received(_ kind: MessageKind, _ bytes: RawSpan, _ link: WebSocketHandle) {
        let isRequest = bytes.withUnsafeBytes { $0.elementsEqual("close, please".utf8) }
        if isRequest {
            link.close(CloseCode(rawValue: 4003), reason: "as asked")
        } else {
            link.send(kind, bytes)
        }
    }

    func ended(_ end: WebSocketEnd) {}
}
