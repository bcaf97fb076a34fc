import Testing
import WebSocketCore

@Suite("Inflating stays below maxMessageBytes, RFC 6455 §10.4")
struct InflationLimitTests {
    static let tooBig = [Seen.failed(1009, "RFC 6455 §10.4")]

    static func limits(_ count: Int) -> Limits {
        var limits = Limits()
        limits.maxMessageBytes = count
        return limits
    }

    /// The payload a message of `count` zeros compresses to.
    static func zeros(_ count: Int) throws -> [UInt8] {
        let server = Endpoint(deflating: .server, limits: limits(.max))
        let piece = [UInt8](repeating: 0, count: 1 << 20)
        for start in stride(from: 0, to: count, by: piece.count) {
            let size = min(piece.count, count - start)
            try server.sendPiece(
                .binary, Array(piece[..<size]), isFirst: start == 0, isFinal: start + size == count)
        }
        // The frames' heads go; what they carry is one stream.
        return payloads(server.written())
    }

    static func payloads(_ wire: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var index = 0
        while index < wire.count {
            var count = Int(wire[index + 1])
            index += 2
            if count == 126 {
                count = Int(wire[index]) << 8 | Int(wire[index + 1])
                index += 2
            }
            bytes += wire[index..<index + count]
            index += count
        }
        return bytes
    }

    @Test("A message of exactly the limit, and one byte more", arguments: [1, 1000, 16384, 100_000])
    func exact(limit: Int) throws {
        let zeros = [UInt8](repeating: 0, count: limit + 1)
        for role in [Role.client, .server] {
            let from = Endpoint(deflating: role == .client ? .server : .client)
            let to = Endpoint(deflating: role, limits: Self.limits(limit))
            try from.send(.binary, Array(zeros.dropLast()))
            #expect(to.receive(from.written()) == [.binary(Array(zeros.dropLast()))])
            try from.send(.binary, zeros)
            #expect(to.receive(from.written()) == Self.tooBig)
        }
    }

    @Test("A message of the limit in many fragments, and one byte more", arguments: [false, true])
    func exactInFragments(isStreaming: Bool) throws {
        let limit = 5000
        for size in [limit, limit + 1] {
            let server = Endpoint(deflating: .server)
            for start in 0..<size {
                try server.sendPiece(.binary, [9], isFirst: start == 0, isFinal: start == size - 1)
            }
            let client = Endpoint(deflating: .client, limits: Self.limits(limit), isStreaming: isStreaming)
            let seen = client.receive(server.written())
            #expect((seen.last == Self.tooBig.last) == (size > limit))
        }
    }

    @Test(
        "D3: 1 GiB of zeros in one small frame ends at the limit, within one buffer", .timeLimit(.minutes(2)))
    func bomb() throws {
        // One compressed MiB of zeros again and again, a stream of 1 GiB that is made in no time: each piece ends
        // with a flush, and the window holds zeros alone.
        let server = Endpoint(deflating: .server, limits: Self.limits(.max))
        let piece = [UInt8](repeating: 0, count: 1 << 20)
        try server.sendPiece(.binary, piece, isFirst: true)
        let first = Self.payloads(server.written())
        try server.sendPiece(.binary, piece)
        let next = Self.payloads(server.written())
        let bomb = first + (1..<1024).flatMap { _ in next }
        #expect(bomb.count < 2 << 20)

        let limit = 16 << 20
        let whole = Endpoint(deflating: .client, limits: Self.limits(limit))
        #expect(whole.receive(frame(0xC2, bomb)) == Self.tooBig)
        #expect(whole.connection.assemblyByteCount <= limit)

        let parts = Endpoint(deflating: .client, limits: Self.limits(limit))
        let size = bomb.count / 100
        var seen = parts.receive(frame(0x42, Array(bomb[..<size])))
        for index in 1..<100 {
            seen += parts.receive(frame(0x00, Array(bomb[index * size..<(index + 1) * size])))
        }
        #expect(seen == Self.tooBig)
        #expect(parts.connection.assemblyByteCount <= limit)
    }

    @Test("A streaming connection has the same limit for a whole message")
    func streaming() throws {
        let zeros = try Self.zeros(3 << 20)
        let client = Endpoint(deflating: .client, limits: Self.limits(2 << 20), isStreaming: true)
        var count = 0
        var seen: [Seen] = []
        for start in stride(from: 0, to: zeros.count, by: 50) {
            let isLast = start + 50 >= zeros.count
            let first: UInt8 = start == 0 ? 0x42 : isLast ? 0x80 : 0x00
            seen = client.receive(frame(first, Array(zeros[start..<min(start + 50, zeros.count)])))
            for case .piece(_, let bytes, _, _) in seen { count += bytes.count }
            if seen.last == Self.tooBig.last { break }
        }
        #expect(seen.last == Self.tooBig.last)
        #expect(count <= 2 << 20)
    }
}
