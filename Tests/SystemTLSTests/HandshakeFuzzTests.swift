import SystemIO
import SystemTLS
import Testing

/// Whatever a peer sends, a handshake ends in words, never in a trap.
@Suite(.timeLimit(.minutes(2))) struct HandshakeFuzzTests {
    @Test("2000 random answers fail a client's handshake", arguments: 0..<4 as Range<UInt64>)
    func client(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let parties = try Parties()
        for round in 0..<500 {
            var sockets = try SocketPair()
            var client = try TLSStream(client: parties.client, socket: sockets.takeFirst(), host: "a.test")
            let peer = sockets.takeSecond()
            _ = try client.handshake()
            try peer.put(Self.message(&random, type: 2))
            peer.shutdownWrite()
            try Self.expectFailure(&client, "seed \(seed) round \(round)")
        }
    }

    @Test("500 random greetings fail a server's handshake", arguments: 0..<2 as Range<UInt64>)
    func server(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let parties = try Parties()
        for round in 0..<250 {
            var sockets = try SocketPair()
            var server = try TLSStream(server: parties.server, socket: sockets.takeFirst())
            let peer = sockets.takeSecond()
            try peer.put(Self.message(&random, type: 1))
            peer.shutdownWrite()
            try Self.expectFailure(&server, "seed \(seed) round \(round)")
        }
    }

    @Test(
        "a server's answer that is cut, doubled, overwritten or shuffled fails a handshake or changes nothing",
        arguments: [TLSOptions.Version.tls12, .tls13])
    func mutated(_ version: TLSOptions.Version) throws {
        let parties = try Parties(version: version)
        for seed in 0..<150 as Range<UInt64> {
            var random = SplitMix(seed: seed)
            var relay = try Relay(parties)
            _ = try relay.client.handshake()
            _ = try relay.toServer()
            _ = try relay.server.handshake()
            _ = try relay.toClient { Self.mutate($0, &random) }
            relay.endToClient()
            do throws(TLSError) {
                _ = try relay.client.handshake()
            } catch {
                #expect(!error.message.isEmpty, "seed \(seed)")
            }
        }
    }

    /// Pure noise, or a record's header before it, or a record and a handshake message of the type.
    private static func message(_ random: inout SplitMix, type: UInt8) -> [UInt8] {
        let noise = random.bytes(Int.random(in: 0...300, using: &random))
        let version: [UInt8] = [3, UInt8.random(in: 1...4, using: &random)]
        func length(_ count: Int) -> [UInt8] { [UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)] }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return noise
        case 1: return [UInt8.random(in: 20...24, using: &random)] + version + length(noise.count) + noise
        case 2:
            let body = [type, 0] + length(noise.count) + noise
            return [22] + version + length(body.count) + body
        default:
            // A hello that is right until its session identifier.
            let hello = [3, 3] + random.bytes(32) + [0] + noise
            let body = [type, 0] + length(hello.count) + hello
            return [22] + version + length(body.count) + body
        }
    }

    private static func mutate(_ bytes: [UInt8], _ random: inout SplitMix) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) where bytes.count > 1 {
            let start = Int.random(in: 0..<bytes.count, using: &random)
            let end = Int.random(in: start...min(bytes.count, start + 64), using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes.removeSubrange(start..<end)
            case 1: bytes.insert(contentsOf: bytes[start..<end], at: start)
            case 2: bytes.replaceSubrange(start..<end, with: random.bytes(end - start))
            default: bytes[start..<end].shuffle(using: &random)
            }
        }
        return bytes
    }

    private static func expectFailure(_ stream: inout TLSStream, _ which: String) throws {
        // What was sent is there, and so is the end: a handshake that is not done now has to fail.
        let error = #expect(throws: TLSError.self, "\(which)") {
            while try stream.handshake() != .done { try waitUntilReady([(stream.rawValue, .read)]) }
        }
        #expect(error?.message.isEmpty == false, "\(which)")
        #expect(throws: TLSError.self, "\(which)") { _ = try stream.readOnce() }
        #expect(throws: TLSError.self, "\(which)") { _ = try stream.writeOnce("x".utf8) }
    }
}
