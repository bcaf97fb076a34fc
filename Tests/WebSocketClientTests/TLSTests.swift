import SystemIO
import SystemTLS
import Testing
@testable import WebSocketClient

@Suite("TLS", .timeLimit(.minutes(3)))
struct TLSTests {
    /// The suite is made anew for each test, and so is its authority.
    private let authority: CertificateAuthority

    init() throws {
        authority = try CertificateAuthority(name: "test authority")
    }

    private func options(_ change: (inout WebSocketOptions) -> Void = { _ in }) -> WebSocketOptions {
        var options = WebSocketOptions()
        options.tls.trust = .pem(authority.certificatePEM)
        change(&options)
        return options
    }

    private func server(
        names: [String] = [], addresses: [String] = ["127.0.0.1"], commonName: String? = nil,
        days: ClosedRange<Int> = -1...30
    ) throws -> ScriptedServer {
        try ScriptedServer(
            authority.issue(names: names, addresses: addresses, commonName: commonName, days: days))
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var name: String
        var names: [String] = []
        var addresses: [String] = []
        var commonName: String?
        var days = -1...30
        var serverName: String?
        var isTrusted = true
        var expected: [String]
        var testDescription: String { name }
    }

    @Test(
        "G4: refused before a byte of HTTP, in words that name the certificate and the mend",
        arguments: [
            Refusal(
                name: "another name", names: ["other.test"], serverName: "here.test",
                expected: ["here.test", "other.test", "tls.serverName"]),
            Refusal(name: "another address", addresses: ["127.0.0.2"], expected: ["127.0.0.1", "127.0.0.2"]),
            Refusal(
                name: "a common name alone", commonName: "here.test", serverName: "here.test",
                expected: ["here.test"]),
            Refusal(
                name: "a wildcard two levels up", names: ["*.a.test"], serverName: "x.y.a.test",
                expected: ["*.a.test"]),
            Refusal(
                name: "expired", addresses: ["127.0.0.1"], days: -10 ... -5, expected: ["expired", "clock"]),
            Refusal(
                name: "not yet valid", addresses: ["127.0.0.1"], days: 5...10, expected: ["not valid before"]),
            Refusal(
                name: "an unknown authority", addresses: ["127.0.0.1"], isTrusted: false,
                expected: ["authority", "tls.trust"]),
        ])
    func refused(_ refusal: Refusal) async throws {
        let server = try self.server(
            names: refusal.names, addresses: refusal.addresses, commonName: refusal.commonName,
            days: refusal.days)
        let options = self.options { options in
            options.tls.serverName = refusal.serverName
            if !refusal.isTrusted { options.tls.trust = .system }
        }
        async let failing = webSocketError {
            _ = try await WebSocket.connect(to: server.url, options: options)
        }
        let peer = try await server.acceptTCP()
        // The client may leave before or after the server's side counts the handshake as done.
        try? await peer.handshake()
        let received = await peer.readToEnd()
        let error = await failing
        #expect(received.isEmpty)
        #expect(error?.kind == .tls && error?.phase == .securing)
        for word in refusal.expected {
            #expect(error?.message.contains(word) == true, "\(error?.message ?? "no error") lacks \(word)")
        }
    }

    @Test("G4: a self-signed certificate is refused, and says so")
    func selfSigned() async throws {
        let server = try ScriptedServer(try CertificateAuthority.selfSigned(addresses: ["127.0.0.1"]))
        let options = self.options()
        async let failing = webSocketError {
            _ = try await WebSocket.connect(to: server.url, options: options)
        }
        let peer = try await server.acceptTCP()
        try? await peer.handshake()
        _ = await peer.readToEnd()
        #expect(await failing?.message.contains("self-signed") == true)
    }

    @Test(
        "G4: names, wildcards and addresses that fit are accepted; SNI is the name without a trailing dot",
        arguments: [
            (["here.test"], "here.test", "here.test"), (["*.a.test"], "x.a.test", "x.a.test"),
            (["here.test"], "here.test.", "here.test"), ([], nil, nil),
        ] as [([String], String?, String?)])
    func accepted(names: [String], serverName: String?, expected: String?) async throws {
        let server = try self.server(names: names)
        let options = self.options { $0.tls.serverName = serverName }
        async let connecting = WebSocket.connect(to: server.url, options: options)
        let peer = try await server.acceptUpgraded()
        #expect(await peer.serverName == expected)
        let socket = try await connecting
        #expect(socket.agreement.tlsVersion == "TLSv1.3")
        socket.abort()
    }

    // MARK: G7, the end of TLS

    private func end(
        _ script: @Sendable (ScriptedConnection) async throws -> Void
    ) async throws -> CloseInfo {
        let server = try self.server()
        let options = self.options()
        async let connecting = WebSocket.connect(to: server.url, options: options)
        let peer = try await server.acceptUpgraded()
        let socket = try await connecting
        try await script(peer)
        return await socket.closed().closeInfo
    }

    @Test(
        "G7: a bare FIN is a truncation, in a frame or between two",
        arguments: [[0x81, 0x05, 0x48], []] as [[UInt8]])
    func bareFIN(bytes: [UInt8]) async throws {
        let info = try await self.end { peer in
            try await peer.write(bytes)
            await peer.finish()
        }
        #expect(info.isTruncated && info.code == .abnormalClosure)
    }

    @Test("G7: a close frame counts although TLS was cut behind it")
    func cutBehindClose() async throws {
        let info = try await self.end { peer in
            try await peer.write(ScriptedFrame.close(4000).bytes)
            _ = try await peer.readFrame()
            await peer.finish()
        }
        #expect(!info.isTruncated && info.code.rawValue == 4000 && info.isClean)
    }

    @Test("G7: close_notify without a close frame is 1006, and no truncation")
    func closeNotify() async throws {
        let info = try await self.end { peer in
            await peer.closeNotify()
            await peer.finish()
        }
        #expect(!info.isTruncated && info.code == .abnormalClosure)
    }

    // MARK: F5, bytes inside TLS

    @Test("F5: one record with 400 frames and then silence: all are delivered")
    func manyFramesInOneRecord() async throws {
        let server = try self.server()
        let recorder = Recorder(keeps: false)
        let options = self.options()
        let handle = WebSocketHandle.connect(to: server.url, options: options, handler: recorder)
        let peer = try await server.acceptUpgraded()
        let frames = (0..<400).flatMap { ScriptedFrame.text("message \($0)").bytes }
        try #require(frames.count <= 16 << 10)
        try await peer.write(frames)
        await recorder.wait { _ in recorder.messageCount == 400 }
        #expect(recorder.messageCount == 400)
        handle.abort()
        _ = await recorder.end()
    }

    @Test("F5: a burst of 500 records is delivered in order to a reader that pauses at each message")
    func pausingReader() async throws {
        let server = try self.server()
        let options = self.options { $0.readHighWater = 1 }
        async let connecting = WebSocket.connect(to: server.url, options: options)
        let peer = try await server.acceptUpgraded()
        let socket = try await connecting
        async let writing: Void = {
            for number in 0..<500 { try await peer.write(ScriptedFrame.text("\(number)").bytes) }
        }()
        var expected = 0
        for try await message in socket.messages {
            #expect(message == .text("\(expected)"))
            expected += 1
            if expected == 500 { break }
        }
        try await writing
        socket.abort()
    }
}
