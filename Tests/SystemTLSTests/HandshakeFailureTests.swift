import Glibc
import SystemIO
import SystemTLS
import Testing

/// What a failed handshake says, so that a person can mend it.
@Suite(.timeLimit(.minutes(2))) struct HandshakeFailureTests {
    /// A client's handshake with a peer that reads the client's first message and answers with `bytes`.
    private func failure(answering bytes: [UInt8], thenEnds: Bool = true) throws -> TLSError {
        let parties = try Parties()
        var sockets = try SocketPair()
        var client = try TLSStream(client: parties.client, socket: sockets.takeFirst(), host: "a.test")
        let peer = sockets.takeSecond()
        _ = try client.handshake()
        _ = try peer.take()
        if !bytes.isEmpty { try peer.put(bytes) }
        if thenEnds { peer.shutdownWrite() }
        let error = #expect(throws: TLSError.self) {
            while case .wants(let interest) = try client.handshake() {
                try waitUntilReady([(client.rawValue, interest)])
            }
        }
        return try #require(error)
    }

    @Test(
        "a server that speaks something else is told from one that speaks TLS",
        arguments: [
            "HTTP/1.1 400 Bad Request\r\n\r\n", "220 mail.test ESMTP\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
            "\0\0\0\0\0\0\0\0",
        ])
    func otherProtocol(_ greeting: String) throws {
        let error = try failure(answering: Array(greeting.utf8))
        #expect(error.kind == .handshake)
        #expect(error.message.contains("a.test does not speak TLS"), "\(error)")
        #expect(error.message.contains("ws://"))
    }

    @Test(
        "a server that just closes, before or after its first bytes",
        arguments: [[], [22, 3], [22, 3, 3, 0, 80, 2]])
    func closes(_ bytes: [UInt8]) throws {
        let error = try failure(answering: bytes)
        #expect(error.kind == .handshake)
        #expect(
            error.message.contains("a.test closed the connection in the middle of the TLS handshake"),
            "\(error)")
    }

    @Test(
        "alerts are named (RFC 8446 §6.2)",
        arguments: [
            (40, "handshake failure", "tls.clientCertificate"),
            (70, "protocol version", "tls.minimumVersion"),
            (112, "unrecognized name", "tls.serverName"), (80, "internal error", "alert 80"),
            (49, "access denied", "alert 49"), (199, "unknown", "alert 199"),
        ])
    func alerts(_ alert: (number: UInt8, name: String, mend: String)) throws {
        let error = try failure(answering: [21, 3, 3, 0, 2, 2, alert.number])
        #expect(error.kind == .handshake)
        #expect(error.message.contains(alert.name), "\(error)")
        #expect(error.message.contains(alert.mend), "\(error)")
    }

    @Test(
        "versions that do not meet",
        arguments: [
            (TLSOptions.Version.tls12, TLSOptions.Version.tls13), (.tls13, .tls12),
        ])
    func versions(_ client: TLSOptions.Version, _ server: TLSOptions.Version) throws {
        let parties = try Parties(version: server) {
            $0.minimumVersion = client
            $0.maximumVersion = client
        }
        var pair = try TLSPair(parties.client, parties.server)
        let failures = try pair.shakeHands()
        #expect(failures.client?.message.contains("tls.minimumVersion") == true, "\(failures)")
        #expect(failures.server?.message.contains("version") == true, "\(failures)")
    }

    @Test("a client that speaks plain HTTP to a server of TLS")
    func plainClient() throws {
        let parties = try Parties()
        var sockets = try SocketPair()
        var server = try TLSStream(server: parties.server, socket: sockets.takeFirst())
        let peer = sockets.takeSecond()
        try peer.put(Array("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n".utf8))
        let error = #expect(throws: TLSError.self) { _ = try server.handshake() }
        #expect(
            error?.message.contains("the client does not speak TLS") == true, "\(String(describing: error))")
    }

    @Test("a reset in the handshake is an error of the transport that names the host")
    func reset() throws {
        let parties = try Parties()
        var sockets = try Loopback()
        var client = try TLSStream(client: parties.client, socket: sockets.takeClient(), host: "a.test")
        let peer = try sockets.takeServer()
        _ = try client.handshake()
        peer.abort()
        let error = #expect(throws: TLSError.self) {
            while case .wants(let interest) = try client.handshake() {
                try waitUntilReady([(client.rawValue, interest)])
            }
        }
        guard case .transport(let system) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(system.errno == ECONNRESET)
        #expect(system.operation == "TLS handshake with a.test")
    }

    @Test("random bytes never do more than fail the handshake", arguments: 1...8 as ClosedRange<UInt64>)
    func randomBytes(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let parties = try Parties()
        var left = 100_000 / 8
        while left > 0 {
            // Some begin as a record does, so that more than the first five bytes are looked at.
            var bytes = random.bytes(min(left, Int.random(in: 1...2000, using: &random)))
            if Bool.random(using: &random), bytes.count > 5 {
                let count = bytes.count - 5
                let kind: UInt8 = [20, 21, 22, 23].randomElement(using: &random) ?? 22
                bytes.replaceSubrange(..<5, with: [kind, 3, 3, UInt8(count >> 8), UInt8(count & 0xFF)])
                if kind == 22, count > 4 {
                    bytes.replaceSubrange(
                        5..<9, with: [2, 0, UInt8((count - 4) >> 8), UInt8((count - 4) & 0xFF)])
                }
            }
            left -= bytes.count
            var sockets = try SocketPair()
            var client = try TLSStream(client: parties.client, socket: sockets.takeFirst(), host: "a.test")
            let peer = sockets.takeSecond()
            _ = try client.handshake()
            var failure: TLSError?
            while failure == nil, !bytes.isEmpty {
                let count = Int.random(in: 1...bytes.count, using: &random)
                try peer.put(Array(bytes.prefix(count)))
                bytes.removeFirst(count)
                do {
                    let progress = try client.handshake()
                    #expect(progress != .done, "seed \(seed)")
                } catch { failure = error }
            }
            if failure == nil {
                peer.shutdownWrite()
                #expect(throws: TLSError.self, "seed \(seed)") { _ = try client.handshake() }
            }
        }
    }

    @Test(
        "a flipped bit in the server's answer fails the handshake or changes nothing",
        arguments: [TLSOptions.Version.tls12, .tls13])
    func flippedBits(_ version: TLSOptions.Version) throws {
        let parties = try Parties(version: version)
        for seed in 0..<120 as Range<UInt64> {
            var random = SplitMix(seed: seed)
            var relay = try Relay(parties)
            _ = try relay.client.handshake()
            _ = try relay.toServer()
            _ = try relay.server.handshake()
            _ = try relay.toClient { bytes in
                var bytes = bytes
                bytes[Int.random(in: 0..<bytes.count, using: &random)] ^=
                    1 << UInt8.random(in: 0..<8, using: &random)
                return bytes
            }
            // Either outcome will do; there must be one, and it must not be a trap.
            do throws(TLSError) {
                _ = try relay.client.handshake()
            } catch {
                #expect(!error.message.isEmpty, "seed \(seed)")
                #expect(throws: TLSError.self, "seed \(seed)") { _ = try relay.client.readOnce() }
            }
        }
    }
}
