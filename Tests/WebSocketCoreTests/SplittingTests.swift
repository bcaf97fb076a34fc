import Testing
import WebSocketCore

@Suite("Bytes cut anywhere give the same events")
struct SplittingTests {
    /// A run of frames with every kind of them, as the peer of `role` writes them.
    static func everyKind(for role: Role) -> [UInt8] {
        let mask: [UInt8]? = role == .server ? [0xA7, 0x01, 0xFF, 0x5C] : nil
        return [
            frame(0x81, "Hello", mask: mask), frame(0x82, [0, 1, 2, 255], mask: mask),
            frame(0x81, mask: mask),
            frame(0x01, "h€", mask: mask), frame(0x89, "pi", mask: mask),
            frame(0x00, [0xF0, 0x9F], mask: mask),
            frame(0x8A, mask: mask), frame(0x00, mask: mask), frame(0x80, [0x98, 0x80], mask: mask),
            frame(0x82, [UInt8](repeating: 5, count: 130), mask: mask), frame(0x8A, "po", mask: mask),
            frame(0x88, [0x03, 0xE8, 0x62, 0xC3, 0xA9], mask: mask), frame(0x81, "late", mask: mask),
        ].flatMap { $0 }
    }

    static let expected: [Seen] = [
        .text("Hello"), .binary([0, 1, 2, 255]), .text(""), .ping(Array("pi".utf8)), .pong([]), .text("h€😀"),
        .binary([UInt8](repeating: 5, count: 130)), .pong(Array("po".utf8)), .close(1000, "bé"),
    ]

    @Test("Cut once, at every boundary", arguments: [Role.client, .server])
    func once(role: Role) {
        let bytes = Self.everyKind(for: role)
        for cut in 0...bytes.count {
            let end = Endpoint(role)
            let seen = end.receive(pieces: [bytes[..<cut], bytes[cut...]])
            #expect(seen == Self.expected, "cut at \(cut)")
        }
    }

    @Test("In pieces of one size, from one byte on", arguments: [Role.client, .server])
    func evenly(role: Role) {
        let bytes = Self.everyKind(for: role)
        for length in 1...40 {
            let pieces = stride(from: 0, to: bytes.count, by: length).map {
                bytes[$0..<min($0 + length, bytes.count)]
            }
            #expect(Endpoint(role).receive(pieces: pieces) == Self.expected, "pieces of \(length)")
        }
    }

    @Test("The answers are the same as well", arguments: [Role.client, .server])
    func answers(role: Role) {
        let bytes = Self.everyKind(for: role)
        let whole = Endpoint(role)
        whole.receive(bytes)
        let cut = Endpoint(role)
        _ = cut.receive(pieces: bytes.indices.map { bytes[$0...$0] })
        #expect(whole.written() == cut.written())
    }

    @Test(
        "Streaming: the pieces of a message add up to it, and say where it begins and ends",
        arguments: [Role.client, .server])
    func streaming(role: Role) {
        let bytes = Self.everyKind(for: role)
        for length in 1...40 {
            let end = Endpoint(role, isStreaming: true)
            var seen: [Seen] = []
            var message: [UInt8]?
            for start in stride(from: 0, to: bytes.count, by: length) {
                for event in end.receive(Array(bytes[start..<min(start + length, bytes.count)])) {
                    guard case .piece(let kind, let piece, let isFirst, let isFinal) = event else {
                        seen.append(event)
                        continue
                    }
                    if isFirst != (message == nil) {
                        Issue.record("isFirst is \(isFirst), pieces of \(length)")
                    }
                    message = (message ?? []) + piece
                    guard isFinal, let whole = message else { continue }
                    seen.append(
                        kind == .text ? .text(String(decoding: whole, as: UTF8.self)) : .binary(whole))
                    message = nil
                }
            }
            #expect(seen == Self.expected, "pieces of \(length)")
        }
    }

    @Test("Streaming gives what it has before the frame is whole")
    func streamingEarly() {
        let client = Endpoint(isStreaming: true)
        #expect(
            client.receive([0x82, 0x05, 1, 2]) == [.piece(.binary, [1, 2], isFirst: true, isFinal: false)])
        #expect(client.receive([3]) == [.piece(.binary, [3], isFirst: false, isFinal: false)])
        #expect(client.receive([4, 5]) == [.piece(.binary, [4, 5], isFirst: false, isFinal: true)])
        #expect(client.receive([0x81, 0x02, 0xC3]) == [.piece(.text, [0xC3], isFirst: true, isFinal: false)])
        #expect(client.receive([0xC3]) == [.failed(1007, "RFC 6455 §8.1")])
    }
}

@Suite("Nothing a peer sends traps")
struct RandomInputTests {
    @Test("Random bytes", .timeLimit(.minutes(2)), arguments: UInt64(1)...8)
    func garbage(seed: UInt64) {
        var random = Seeded(seed)
        for _ in 0..<4_500 {
            let role: Role = Bool.random(using: &random) ? .client : .server
            let end = Endpoint(role, isStreaming: Bool.random(using: &random))
            var bytes = random.bytes(Int.random(in: 1...40, using: &random))
            // A first byte that is often a valid one gets further.
            bytes[0] = [0x81, 0x82, 0x01, 0x88, 0x89, bytes[0]].randomElement(using: &random) ?? 0
            if role == .server, bytes.count > 1 { bytes[1] |= 0x80 }
            let failures = end.receive(pieces: random.cut(bytes, atMost: 20)).filter {
                if case .failed = $0 { true } else { false }
            }
            if failures.count > 1 { Issue.record("failed twice, seed \(seed)") }
            _ = end.written()
        }
    }

    @Test("Valid frames with bytes changed", .timeLimit(.minutes(2)), arguments: UInt64(1)...8)
    func changed(seed: UInt64) {
        var random = Seeded(seed)
        for _ in 0..<1_400 {
            let role: Role = Bool.random(using: &random) ? .client : .server
            var bytes = SplittingTests.everyKind(for: role)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            let whole = Endpoint(role).receive(bytes)
            let cut = Endpoint(role).receive(pieces: random.cut(bytes, atMost: 30))
            if whole != cut { Issue.record("\(bytes) are judged by how they are cut, seed \(seed)") }
        }
    }

    @Test("Random handshakes", .timeLimit(.minutes(2)), arguments: UInt64(1)...4)
    func handshakes(seed: UInt64) throws {
        var random = Seeded(seed)
        let request = ServerHandshakeTests.text(ServerHandshakeTests.lines)
        let answer = ClientHandshakeTests.ok + "Sec-WebSocket-Extensions: permessage-deflate; a=\"b\"\r\n\r\n"
        let refusal = "HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n5;a\r\nhello\r\n0\r\n\r\n"
        for text in [request, answer, refusal] {
            for _ in 0..<500 {
                var bytes = Array(text.utf8)
                for _ in 0..<Int.random(in: 1...5, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(
                        in: 0...255, using: &random)
                }
                var server = ServerHandshake()
                var client = try ClientHandshakeTests.handshake(deflate: DeflateOptions())
                for piece in random.cut(bytes, atMost: 60) {
                    var offset = 0
                    _ = piece.withUnsafeBytes { try? server.receive($0, at: &offset) }
                    offset = 0
                    _ = piece.withUnsafeBytes { try? client.receive($0, at: &offset) }
                    if offset > piece.count { Issue.record("took too much, seed \(seed)") }
                }
            }
        }
    }
}

@Suite("A client and a server understand each other")
struct RoundTripTests {
    @Test(
        "Random messages, fragments and control frames, cut anywhere", .timeLimit(.minutes(2)),
        arguments: UInt64(1)...10)
    func random(seed: UInt64) throws {
        var random = Seeded(seed)
        for sender in [Role.client, .server] {
            let from = Endpoint(sender)
            let to = Endpoint(sender == .client ? .server : .client)
            var sent: [Seen] = []
            for _ in 0..<60 {
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    let text = random.text(Int.random(in: 0...300, using: &random))
                    try from.send(text)
                    sent.append(.text(text))
                case 1:
                    let bytes = random.bytes(Int.random(in: 0...2000, using: &random))
                    try from.send(.binary, bytes)
                    sent.append(.binary(bytes))
                case 2:
                    let text = random.text(Int.random(in: 1...100, using: &random))
                    let pieces = random.cut(Array(text.utf8), atMost: 30)
                    for (index, piece) in pieces.enumerated() {
                        try from.sendPiece(
                            .text, Array(piece), isFirst: index == 0, isFinal: index == pieces.count - 1)
                    }
                    sent.append(.text(text))
                default:
                    // Control frames overtake, so what waits is written first.
                    try deliver(from, to, &sent, &random, seed)
                    try from.ping([1, 2])
                    sent.append(.ping([1, 2]))
                }
            }
            try from.close(1000, "done")
            sent.append(.close(1000, "done"))
            try deliver(from, to, &sent, &random, seed)
        }
    }

    private func deliver(
        _ from: Endpoint, _ to: Endpoint, _ sent: inout [Seen], _ random: inout Seeded, _ seed: UInt64
    ) throws {
        let seen = to.receive(pieces: random.cut(from.written(), atMost: 700))
        #expect(seen == sent, "seed \(seed)")
        sent = []
    }
}
