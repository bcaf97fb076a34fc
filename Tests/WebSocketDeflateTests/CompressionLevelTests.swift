import Testing
import WebSocketCore
import WebSocketDeflate

@Suite("Whatever the compressor makes of a message, it is read back")
struct CompressionLevelTests {
    private static func pair(level: Int) -> (Endpoint, Endpoint) {
        var options = DeflateOptions()
        options.threshold = 0
        options.level = level
        func end(_ role: Role) -> Endpoint {
            Endpoint(
                role,
                compression: PerMessageDeflate(role: role, agreed: DeflateParameters(), options: options))
        }
        return (end(.client), end(.server))
    }

    @Test("Every level, 0 that only stores among them", arguments: 0...9)
    func levels(level: Int) throws {
        var random = Seeded(UInt64(level))
        let (client, server) = Self.pair(level: level)
        let messages = [[], [7], [UInt8](repeating: 7, count: 70_000), random.bytes(70_000)]
        for message in messages + messages {
            try client.send(.binary, message)
            let wire = client.written()
            // RSV1 says that it is compressed, whether that made it smaller or not.
            #expect(wire[0] == 0xC2)
            let isSame = server.receive(wire) == [.binary(message)]
            #expect(isSame, "\(message.count) bytes")
        }
    }

    @Test(
        "Output that ends at, before and behind the end of the room it is given", arguments: [0, 6],
        [490...530, 1000...1050, 2030...2070])
    func flushBoundaries(level: Int, sizes: ClosedRange<Int>) throws {
        var random = Seeded(1)
        let (client, server) = Self.pair(level: level)
        for size in sizes {
            let message = random.bytes(size)
            try client.send(.binary, message)
            try client.sendPiece(.binary, message, isFirst: true)
            try client.sendPiece(.binary, [], isFinal: true)
            #expect(
                server.receive(client.written()) == [.binary(message), .binary(message)], "\(size) bytes")
        }
    }
}

@Suite("Compressed bytes are judged by what they are, not by how they are cut")
struct ChangedCompressedTests {
    /// Several compressed messages, one of them in fragments with a ping between them.
    private static func wire(for role: Role, _ random: inout Seeded) throws -> [UInt8] {
        let from = Endpoint(deflating: role == .client ? .server : .client)
        try from.send("Hello, hello, hello €")
        try from.sendPiece(.text, Array(random.text(40).utf8), isFirst: true)
        let first = from.written()
        try from.ping([1, 2])
        let ping = from.written()
        try from.sendPiece(.text, Array(random.text(40).utf8), isFinal: true)
        try from.send(.binary, random.bytes(60))
        return first + ping + from.written()
    }

    /// The same but for which of two faults was found first in a message that has both.
    private static func withoutCause(_ seen: [Seen]) -> [Seen] {
        seen.map { if case .failed = $0 { .failed(0, "") } else { $0 } }
    }

    @Test("Valid streams with bytes changed", .timeLimit(.minutes(2)), arguments: UInt64(1)...6)
    func changed(seed: UInt64) throws {
        var random = Seeded(seed)
        for role in [Role.client, .server] {
            let valid = try Self.wire(for: role, &random)
            for _ in 0..<150 {
                var bytes = valid
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(
                        in: 0...255, using: &random)
                }
                let whole = Endpoint(deflating: role).receive(bytes)
                let cut = Endpoint(deflating: role).receive(pieces: random.cut(bytes, atMost: 25))
                if Self.withoutCause(whole) != Self.withoutCause(cut) {
                    Issue.record("\(bytes): \(whole) whole, \(cut) in pieces, seed \(seed)")
                }
            }
        }
    }

    @Test("Streaming: the pieces add up to the same messages", arguments: [Role.client, .server])
    func streaming(role: Role) throws {
        var random = Seeded(9)
        let bytes = try Self.wire(for: role, &random)
        let expected = Endpoint(deflating: role).receive(bytes)
        for length in [1, 2, 3, 7, 50, bytes.count] {
            let end = Endpoint(deflating: role, isStreaming: true)
            var seen: [Seen] = []
            var message: [UInt8] = []
            let pieces = stride(from: 0, to: bytes.count, by: length).map {
                bytes[$0..<min($0 + length, bytes.count)]
            }
            for event in end.receive(pieces: pieces) {
                guard case .piece(let kind, let piece, let isFirst, let isFinal) = event else {
                    seen.append(event)
                    continue
                }
                if isFirst { message = [] }
                message += piece
                guard isFinal else { continue }
                seen.append(
                    kind == .text ? .text(String(decoding: message, as: UTF8.self)) : .binary(message))
            }
            #expect(seen == expected, "pieces of \(length)")
        }
    }

    @Test("Behind our close compressed messages are checked, not delivered, and held against the limit")
    func afterOurClose() throws {
        let hello = frame(0xC1, PerMessageDeflateTests.hello)
        let client = Endpoint(deflating: .client)
        try client.close(1000)
        #expect(client.receive(hello + frame(0xC2, [0xFF])) == [.failed(1007, "RFC 7692 §7.2.2")])

        var limits = Limits()
        limits.maxMessageBytes = 4
        let small = Endpoint(deflating: .client, limits: limits)
        try small.close(1000)
        #expect(small.receive(hello) == [.failed(1009, "RFC 6455 §10.4")])
    }
}
