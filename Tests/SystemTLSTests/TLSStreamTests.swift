import SystemIO
import SystemTLS
import Testing

@Suite(.timeLimit(.minutes(2))) struct TLSStreamTests {
    @Test(
        "both versions shake hands, and each side knows what was agreed on",
        arguments: [
            (TLSOptions.Version.tls12, "TLSv1.2"), (.tls13, "TLSv1.3"),
        ])
    func handshake(_ version: TLSOptions.Version, _ name: String) throws {
        var pair = try TLSPair.connected(version: version)
        let (client, server) = (pair.client.summary, pair.server.summary)
        #expect(client.version == name)
        #expect(client.cipher == server.cipher && !client.cipher.isEmpty)
        #expect(client.peerSubject == "CN = a.test")
        #expect(server.version == name && server.peerSubject == nil)
        try pair.client.put("hello")
        let heard = try pair.server.take(exactly: 5)
        #expect(text(heard) == "hello")
        try pair.server.put("there")
        let answer = try pair.client.take(exactly: 5)
        #expect(text(answer) == "there")
    }

    @Test("TLS 1.3 is what two sides agree on that know both")
    func newest() throws {
        let authority = try CertificateAuthority(name: "authority")
        let identity = try authority.issue(names: ["a.test"])
        var options = TLSOptions()
        options.trust = .pem(authority.certificatePEM)
        var pair = try TLSPair(
            try .client(options),
            try .server(
                certificateChainPEM: identity.certificateChainPEM, privateKeyPEM: identity.privateKeyPEM))
        try pair.connect()
        let version = pair.client.summary.version
        #expect(version == "TLSv1.3")
    }

    @Test(
        "8 MiB go each way at once, through small buffers and in odd pieces",
        arguments: [
            TLSOptions.Version.tls12, .tls13,
        ], [1, 2] as [UInt64])
    func bigTransfer(_ version: TLSOptions.Version, _ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var pair = try TLSPair.connectedOverTCP(version: version)
        let sent = (random.bytes(8 << 20), random.bytes(8 << 20))
        var done = (0, 0)
        var received: ([UInt8], [UInt8]) = ([], [])
        while received.0.count < 8 << 20 || received.1.count < 8 << 20 {
            let before = done.0 + done.1 + received.0.count + received.1.count
            done.0 += try Self.write(sent.0[done.0...], to: &pair.client, &random)
            received.1 += try Self.read(from: &pair.server, &random)
            done.1 += try Self.write(sent.1[done.1...], to: &pair.server, &random)
            received.0 += try Self.read(from: &pair.client, &random)
            guard done.0 + done.1 + received.0.count + received.1.count == before else { continue }
            try waitUntilReady([
                (pair.client.rawValue, done.0 < 8 << 20 ? [.read, .write] : .read),
                (pair.server.rawValue, done.1 < 8 << 20 ? [.read, .write] : .read),
            ])
        }
        // Not in the macro's hands: it would print 8 MiB.
        let isSame = received.0 == sent.1 && received.1 == sent.0
        #expect(isSame, "seed \(seed)")
    }

    private static func write(
        _ rest: ArraySlice<UInt8>, to stream: inout TLSStream, _ random: inout SplitMix
    ) throws -> Int {
        // What blocked has to be offered again, at least as much of it.
        let size = max(Int.random(in: 1...100_000, using: &random), stream.committedByteCount)
        guard case .bytes(let count) = try stream.writeOnce(rest.prefix(size)) else { return 0 }
        return count
    }

    private static func read(from stream: inout TLSStream, _ random: inout SplitMix) throws -> [UInt8] {
        try stream.readOnce(upTo: Int.random(in: 1...50_000, using: &random)).bytes
    }

    @Test("one read takes several records; scenario F5", arguments: [TLSOptions.Version.tls12, .tls13])
    func severalRecords(_ version: TLSOptions.Version) throws {
        var pair = try TLSPair.connected(version: version)
        // So many small messages fit into the socket's buffer at once.
        for burst in 0..<5 {
            let records = (0..<100).map { "record \(burst * 100 + $0);" }
            for record in records { try pair.server.put(record) }
            let heard = try pair.client.readOnce().bytes
            #expect(text(heard) == records.joined())
        }
        let outcome = try pair.client.readOnce().outcome
        #expect(outcome == .wouldBlock(.read))
        let isPending = pair.client.hasPendingBytes
        #expect(!isPending)
    }

    @Test("one record can be read in small pieces, and the rest is known to wait; scenario F5")
    func smallPieces() throws {
        var pair = try TLSPair.connected()
        var random = SplitMix(seed: 5)
        let sent = random.bytes(16 << 10)
        try pair.server.put(sent)
        try waitUntilReady([(pair.client.rawValue, .read)])
        var heard: [UInt8] = []
        repeat {
            heard += try pair.client.readOnce(upTo: 7).bytes
            // The socket is empty after the first read: only this shows that more is there.
            let isPending = pair.client.hasPendingBytes
            #expect(isPending == (heard.count < sent.count))
        } while pair.client.hasPendingBytes
        #expect(heard == sent)
    }

    @Test("bytes that came along with the handshake's end are known to wait", arguments: [false, true])
    func pendingAfterHandshake(_ readsEarly: Bool) throws {
        let parties = try Parties(version: .tls13)
        var pair = try TLSPair(parties.client, parties.server)
        if readsEarly {
            let outcome = try pair.server.readOnce().outcome
            #expect(outcome == .wouldBlock(.read))
        }
        // The client's last message and its first bytes lie in the socket together.
        var client = HandshakeProgress.wants(.read)
        while client != .done {
            client = try pair.client.handshake()
            if client != .done { _ = try pair.server.handshake() }
        }
        try pair.client.put("early")
        let server = try pair.server.handshake()
        #expect(server == .done)
        let isPending = pair.server.hasPendingBytes
        #expect(isPending)
        let heard = try pair.server.readOnce().bytes
        #expect(text(heard) == "early")
        let isStillPending = pair.server.hasPendingBytes
        #expect(!isStillPending)
    }

    @Test("calls say what they wait for")
    func wants() throws {
        let parties = try Parties()
        var pair = try TLSPair(parties.client, parties.server)
        let first = try pair.server.handshake()
        #expect(first == .wants(.read))
        let second = try pair.client.handshake()
        #expect(second == .wants(.read))
        try pair.connect()
        let idle = try pair.server.readOnce().outcome
        #expect(idle == .wouldBlock(.read))
        _ = try pair.client.fill([UInt8](repeating: 1, count: 16 << 20))
        let full = try pair.client.writeOnce(repeatElement(1, count: 16 << 10))
        #expect(full == .wouldBlock(.write))
    }

    @Test("a handshake that cannot write waits for the socket to take more")
    func handshakeWantsWrite() throws {
        let parties = try Parties()
        var sockets = try SocketPair()
        let socket = sockets.takeFirst()
        let peer = sockets.takeSecond()
        var junk = 0
        let chunk = [UInt8](repeating: 0, count: 4096)
        while case .bytes(let count) = try chunk.withUnsafeBytes({ try socket.write($0) }) { junk += count }
        var client = try TLSStream(client: parties.client, socket: socket, host: "a.test")
        let progress = try client.handshake()
        #expect(progress == .wants(.write))
        while junk > 0 { junk -= try peer.take(upTo: junk).bytes.count }
        var pair = TLSPair(client, try TLSStream(server: parties.server, socket: peer))
        try pair.connect()
    }

    @Test("what a blocked write has encrypted is sent, once, when it is offered again from another place")
    func committed() throws {
        var pair = try TLSPair.connected()
        var random = SplitMix(seed: 9)
        let bytes = random.bytes(16 << 20)
        let before = pair.client.committedByteCount
        #expect(before == 0)
        let sent = try pair.client.fill(bytes)
        let blocked = pair.client.committedByteCount
        #expect((1...16 << 10).contains(blocked))
        var heard: [UInt8] = []
        var done = sent
        // Less and more than before, but no less than was committed.
        let total = sent + 100_000
        while heard.count < total {
            heard += try pair.server.readOnce().bytes
            guard done < total else { continue }
            let size = max(pair.client.committedByteCount, 1000)
            let outcome = try pair.client.writeOnce(Array(bytes[done..<min(done + size, total)]))
            if case .bytes(let count) = outcome { done += count }
        }
        let after = pair.client.committedByteCount
        #expect(after == 0)
        let isSame = heard == Array(bytes[..<total])
        #expect(isSame)
    }

    @Test(
        "bytes that change while a write is blocked end the connection instead of corrupting it",
        arguments: [0, 1])
    func changed(_ kind: Int) throws {
        var pair = try TLSPair.connected()
        let sent = try pair.client.fill([UInt8](repeating: 1, count: 16 << 20))
        #expect(sent > 0)
        let committed = pair.client.committedByteCount
        var retry = [UInt8](repeating: 1, count: kind == 0 ? 40_000 : committed - 1)
        if kind == 0 { retry.insert(2, at: committed - 1) }
        let error = #expect(throws: TLSError.self) { _ = try pair.client.writeOnce(retry) }
        #expect(error?.kind == .connection)
        #expect(error?.message.contains("changed") == true)
    }

    @Test("nothing is read into an empty buffer and nothing written from one")
    func empty() throws {
        var pair = try TLSPair.connected()
        let read = try pair.client.read(into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
        #expect(read == .bytes(0))
        let written = try pair.client.write(UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(written == .bytes(0))
    }

    @Test("fresh keys change nothing that the two sides say (RFC 8446 §4.6.3)")
    func keyUpdate() throws {
        var pair = try TLSPair.connected(version: .tls13)
        for round in 0..<20 {
            let isDone = round.isMultiple(of: 2) ? pair.client.updateKeys() : pair.server.updateKeys()
            #expect(isDone)
            try pair.client.put("c\(round % 10)")
            let heard = try pair.server.take(exactly: 2)
            #expect(text(heard) == "c\(round % 10)")
            try pair.server.put("s\(round % 10)")
            let answer = try pair.client.take(exactly: 2)
            #expect(text(answer) == "s\(round % 10)")
        }
        var old = try TLSPair.connected(version: .tls12)
        let isDone = old.client.updateKeys()
        #expect(!isDone)
        try old.client.put("goes on")
        let heard = try old.server.take(exactly: 7)
        #expect(text(heard) == "goes on")
    }
}
