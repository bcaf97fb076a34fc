import Testing
import WebSocketCore
import WebSocketDeflate

extension Endpoint {
    /// An end that agreed on permessage-deflate.
    convenience init(
        deflating role: Role, limits: Limits = Limits(), threshold: Int = 0, isStreaming: Bool = false,
        _ change: (inout DeflateParameters) -> Void = { _ in }
    ) {
        var agreed = DeflateParameters()
        change(&agreed)
        var options = DeflateOptions()
        options.threshold = threshold
        self.init(
            role, limits: limits,
            compression: PerMessageDeflate(role: role, agreed: agreed, options: options),
            isStreaming: isStreaming)
    }
}

@Suite("permessage-deflate, RFC 7692 §6, §7.2")
struct PerMessageDeflateTests {
    static let hello: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]

    @Test("§7.2.3.1: one compressed message, also in fragments")
    func example() {
        let client = Endpoint(deflating: .client)
        #expect(client.receive(frame(0xC1, Self.hello)) == [.text("Hello")])
        let fragments: [UInt8] = [0x41, 0x03, 0xF2, 0x48, 0xCD, 0x80, 0x04, 0xC9, 0xC9, 0x07, 0x00]
        #expect(Endpoint(deflating: .client).receive(fragments) == [.text("Hello")])
    }

    @Test("§7.2.3.2: the window of the message before")
    func sharedWindow() {
        let client = Endpoint(deflating: .client)
        let again: [UInt8] = [0xF2, 0x00, 0x11, 0x00, 0x00]
        #expect(
            client.receive(frame(0xC1, Self.hello) + frame(0xC1, again)) == [.text("Hello"), .text("Hello")])
    }

    @Test("§7.2.3.3: a block without compression")
    func storedBlock() {
        let stored: [UInt8] = [0xC1, 0x0B, 0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]
        #expect(Endpoint(deflating: .client).receive(stored) == [.text("Hello")])
    }

    @Test("§7.2.3.4, §7.2.3.5: a final block, and two blocks")
    func finalBlockAndTwoBlocks() {
        let final: [UInt8] = [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]
        #expect(Endpoint(deflating: .client).receive(frame(0xC1, final)) == [.text("Hello")])
        let two: [UInt8] = [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00]
        #expect(Endpoint(deflating: .client).receive(frame(0xC1, two)) == [.text("Hello")])
    }

    @Test("D1: messages behind a final block, an empty one, and one that is not compressed")
    func finalBlocksBetweenMessages() {
        let client = Endpoint(deflating: .client)
        let wire: [UInt8] = [
            0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00,
            0xC1, 0x05, 0xF2, 0x00, 0x11, 0x00, 0x00,
            0xC1, 0x08, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00,
            0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00,
            0xC1, 0x01, 0x00, 0x81, 0x01, 0x61,
        ]
        let expected: [Seen] = [
            .text("Hello"), .text("Hello"), .text("Hello"), .text("Hello"), .text(""), .text("a"),
        ]
        #expect(client.receive(wire) == expected)
        for length in 1...12 {
            let pieces = stride(from: 0, to: wire.count, by: length).map {
                wire[$0..<min($0 + length, wire.count)]
            }
            #expect(Endpoint(deflating: .client).receive(pieces: pieces) == expected, "pieces of \(length)")
        }
    }

    @Test(
        "D1: a final block that ends the message exactly, and no bytes at all, leave nothing for the next message"
    )
    func finalBlockWithoutMore() {
        let client = Endpoint(deflating: .client)
        let final: [UInt8] = [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
        let again: [UInt8] = [0xF2, 0x00, 0x11, 0x00, 0x00]
        let seen = client.receive(
            frame(0xC1, final) + frame(0xC1, again) + frame(0xC1) + frame(0xC1, final)
                + frame(0xC1, Self.hello))
        #expect(seen == [.text("Hello"), .text("Hello"), .text(""), .text("Hello"), .text("Hello")])
    }

    @Test("D1: a server that agreed to a fresh window and uses the old one fails")
    func oldWindow() {
        let client = Endpoint(deflating: .client) { $0.serverNoContextTakeover = true }
        let again: [UInt8] = [0xF2, 0x00, 0x11, 0x00, 0x00]
        #expect(
            client.receive(frame(0xC1, Self.hello) + frame(0xC1, again))
                == [.text("Hello"), .failed(1007, "RFC 7692 §7.2.2")])
    }

    @Test("Bytes that are no DEFLATE, and a message that ends inside a block")
    func corrupt() {
        for bad in [
            [0xFF], [0x07], [0xF2, 0x48, 0xCD], [0x00, 0x05, 0x00], [0xF2, 0x48, 0xCD, 0xC9, 0xC9],
        ] as [[UInt8]] {
            let seen = Endpoint(deflating: .client).receive(frame(0xC2, bad))
            #expect(seen == [.failed(1007, "RFC 7692 §7.2.2")], "\(bad)")
        }
    }

    @Test(
        "§6: RSV1 stands on a message's first frame, and nowhere else",
        arguments: [0xC0, 0xC9, 0xCA, 0xC8, 0xA1, 0x91, 0xE1] as [UInt8])
    func reservedBits(first: UInt8) {
        let client = Endpoint(deflating: .client)
        client.receive(frame(0x41, Array(Self.hello.prefix(2))))
        let fresh = Endpoint(deflating: .client)
        for end in [client, fresh] where first & 0x0F == 0 || end === fresh {
            guard case .failed(1002, _)? = end.receive([first, 0x00]).first else {
                Issue.record("\(first) was accepted")
                continue
            }
        }
    }

    @Test("UTF-8 is checked while it is inflated, before the message is whole")
    func invalidText() {
        let server = Endpoint(deflating: .server)
        #expect(throws: Never.self) { try server.sendPiece(.binary, [0x61, 0xFF, 0x61], isFirst: true) }
        var wire = server.written()
        // The same bytes as text, which a client of ours would not have sent.
        wire[0] = 0x41
        #expect(Endpoint(deflating: .client).receive(wire) == [.failed(1007, "RFC 6455 §8.1")])
    }

    @Test("Characters may be split between compressed fragments")
    func splitCharacter() throws {
        let server = Endpoint(deflating: .server)
        try server.sendPiece(.text, [0xF0], isFirst: true)
        try server.sendPiece(.text, [0x9F, 0x98])
        try server.sendPiece(.text, [0x80], isFinal: true)
        #expect(Endpoint(deflating: .client).receive(server.written()) == [.text("😀")])
    }

    @Test("A control frame between compressed fragments")
    func controlBetween() {
        let client = Endpoint(deflating: .client)
        let seen = client.receive(
            frame(0x41, Array(Self.hello[..<3])) + frame(0x89, "p") + frame(0x80, Array(Self.hello[3...])))
        #expect(seen == [.ping(Array("p".utf8)), .text("Hello")])
    }

    @Test("What is compressed: the threshold's size and more, marked with RSV1")
    func threshold() throws {
        let server = Endpoint(deflating: .server, threshold: 100)
        try server.send(.binary, [UInt8](repeating: 1, count: 99))
        #expect(server.written() == frame(0x82, [UInt8](repeating: 1, count: 99)))
        try server.send(.binary, [UInt8](repeating: 1, count: 100))
        let wire = server.written()
        #expect(wire[0] == 0xC2 && wire.count < 50)
    }

    @Test("§7.2.1: a message ends without 00 00 FF FF; an empty one is one zero byte")
    func tail() throws {
        let server = Endpoint(deflating: .server)
        try server.send("")
        #expect(server.written() == [0xC1, 0x01, 0x00])
        try server.send("Hello")
        #expect(server.written() == frame(0xC1, Self.hello))
        try server.send("")
        let client = Endpoint(deflating: .client)
        #expect(client.receive([0xC1, 0x01, 0x00] + frame(0xC1, Self.hello)) == [.text(""), .text("Hello")])
        #expect(client.receive(server.written()) == [.text("")])
    }

    @Test("Context takeover is used where it was agreed, and only there")
    func takeover() throws {
        for fresh in [false, true] {
            let server = Endpoint(deflating: .server) { $0.serverNoContextTakeover = fresh }
            try server.send("Hello, hello, hello")
            let first = server.written()
            try server.send("Hello, hello, hello")
            let second = server.written()
            #expect(fresh ? second == first : second.count < first.count)

            let client = Endpoint(deflating: .client) { $0.clientNoContextTakeover = fresh }
            try client.send("Hello, hello, hello")
            let third = client.written().count
            try client.send("Hello, hello, hello")
            #expect(fresh ? client.written().count == third : client.written().count < third)
        }
    }

    @Test("D2: 8 bits are agreed: nothing is compressed, and what a peer compresses is read")
    func smallestWindow() throws {
        let client = Endpoint(deflating: .client) {
            $0.clientMaxWindowBits = 8
            $0.serverMaxWindowBits = 8
        }
        let bytes = [UInt8](repeating: 7, count: 1000)
        try client.send(.binary, bytes)
        try client.sendPiece(.binary, bytes, isFirst: true, isFinal: true)
        #expect(
            client.written() == frame(0x82, bytes, mask: [1, 2, 3, 4])
                + frame(0x82, bytes, mask: [5, 6, 7, 8]))
        #expect(client.receive(frame(0xC1, Self.hello)) == [.text("Hello")])
    }

    @Test("A window is kept: what was compressed with it can be read with it", arguments: 9...15)
    func windows(bits: Int) throws {
        var random = Seeded(UInt64(bits))
        // Repeats at a distance that only the largest windows reach.
        let block = random.bytes(400)
        let message = (0..<120).flatMap { _ in block + random.bytes(Int.random(in: 0...300, using: &random)) }
        let server = Endpoint(deflating: .server) { $0.serverMaxWindowBits = bits }
        let client = Endpoint(deflating: .client) { $0.serverMaxWindowBits = bits }
        for _ in 0..<3 {
            try server.send(.binary, message)
            #expect(client.receive(server.written()) == [.binary(message)])
        }
    }

    @Test("A peer that looks back further than its window fails")
    func beyondWindow() throws {
        var random = Seeded(1)
        let block = random.bytes(300)
        let server = Endpoint(deflating: .server)
        let message = block + random.bytes(20_000)
        try server.send(.binary, message)
        try server.send(.binary, block)
        let wire = server.written()
        #expect(Endpoint(deflating: .client).receive(wire) == [.binary(message), .binary(block)])
        let narrow = Endpoint(deflating: .client) { $0.serverMaxWindowBits = 9 }
        #expect(narrow.receive(wire) == [.binary(message), .failed(1007, "RFC 7692 §7.2.2")])
    }
}
