import Foundation
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

    @Test("G4: SNI is the URL's host, without port and trailing dot", arguments: ["here.test", "here.test."])
    func namedByURL(host: String) async throws {
        let server = try self.server(names: ["here.test"])
        let address = SocketAddress.loopback(port: server.port)
        let options = self.options {
            $0.resolver = Resolver { (_, _) async throws(ResolveError) -> [SocketAddress] in [address] }
        }
        async let connecting = WebSocket.connect(to: "wss://\(host):\(server.port)/", options: options)
        let peer = try await server.acceptUpgraded()
        #expect(await peer.serverName == "here.test")
        try await connecting.abort()
    }

    // MARK: Options

    @Test("trust is a file, a directory, or PEM text", arguments: ["file", "directory", "pem"])
    func trust(_ form: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "trust-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("authority.pem")
        try authority.certificatePEM.write(to: file, atomically: true, encoding: .utf8)
        let server = try self.server()
        let options = self.options { options in
            switch form {
            case "file": options.tls.trust = .file(file.path)
            case "directory": options.tls.trust = .directory(folder.path)
            default: options.tls.trust = .pem(authority.certificatePEM)
            }
        }
        async let connecting = WebSocket.connect(to: server.url, options: options)
        _ = try await server.acceptUpgraded()
        try await connecting.abort()
    }

    @Test("trust in a file that is not there costs the server no connection, and names the file")
    func missingTrust() async throws {
        let server = try self.server()
        let options = self.options { $0.tls.trust = .file("/nowhere/authority.pem") }
        let error = await webSocketError { _ = try await WebSocket.connect(to: server.url, options: options) }
        #expect(error?.kind == .misuse && error?.message.contains("/nowhere/authority.pem") == true)
        #expect(try await !server.hasConnection())
    }

    @Test("versions are bounded on both sides", arguments: [false, true])
    func versions(isOld: Bool) async throws {
        let server = try self.server()
        let options = self.options { options in
            if isOld { options.tls.maximumVersion = .tls12 } else { options.tls.minimumVersion = .tls13 }
        }
        async let connecting = WebSocket.connect(to: server.url, options: options)
        _ = try await server.acceptUpgraded()
        let socket = try await connecting
        #expect(socket.agreement.tlsVersion == (isOld ? "TLSv1.2" : "TLSv1.3"))
        socket.abort()
    }

    @Test("versions in the wrong order are refused, and the options named")
    func versionsOutOfOrder() async throws {
        let options = self.options { options in
            options.tls.minimumVersion = .tls13
            options.tls.maximumVersion = .tls12
        }
        let error = await webSocketError {
            _ = try await WebSocket.connect(to: "wss://127.0.0.1:1/", options: options)
        }
        #expect(error?.kind == .misuse && error?.message.contains("tls.minimumVersion") == true)
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

    @Test("F5: a burst of 500 records is delivered whole to a handler")
    func burst() async throws {
        let server = try self.server()
        let recorder = Recorder()
        let handle = WebSocketHandle.connect(to: server.url, options: self.options(), handler: recorder)
        let peer = try await server.acceptUpgraded()
        let expected = (0..<500).map { "message \($0)" }
        for text in expected { try await peer.write(ScriptedFrame.text(text).bytes) }
        await recorder.wait { _ in recorder.messageCount == 500 }
        #expect(recorder.texts == expected)
        handle.abort()
        _ = await recorder.end()
    }

    @Test("large messages go both ways while the peer does not read, and a ping among them harms nothing")
    func bothWays() async throws {
        let server = try self.server()
        let options = self.options { options in
            options.writeHighWater = 64 << 10
            options.writeLowWater = 16 << 10
        }
        async let connecting = WebSocket.connect(to: server.url, options: options)
        let peer = try await server.acceptUpgraded()
        let socket = try await connecting
        let payloads = (0..<6).map { number in
            (0..<(1 << 20) + number).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 7 &+ number) }
        }
        async let sending: Void = { for payload in payloads { try await socket.send(payload) } }()
        // The kernel takes no more, and nobody reads. A kernel with very large buffers may take it all, and prove less.
        var turns = 0
        while turns < 50_000, await !socket.handle.driver.hasWaiters {
            await rounds(1)
            turns += 1
        }
        async let pinging = socket.ping()
        async let writing: Void = {
            for payload in payloads {
                try await peer.write(ScriptedFrame(head: 0x82, payload: payload).bytes)
            }
        }()
        var messages = socket.messages.makeAsyncIterator()
        for payload in payloads {
            let isEqual = try await messages.next() == .binary(payload)
            #expect(isEqual)
        }
        try await writing
        var received: [[UInt8]] = []
        var pings = 0
        while received.count < payloads.count || pings == 0 {
            let frame = try await peer.readFrame()
            if frame.head == 0x89 {
                pings += 1
                try await peer.write(ScriptedFrame(head: 0x8A, payload: frame.payload).bytes)
            } else {
                received.append(frame.payload)
            }
        }
        try await sending
        _ = try await pinging
        let isEqual = received == payloads
        #expect(isEqual)
        socket.abort()
    }
}
