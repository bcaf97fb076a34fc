import Testing
import WebSocketCore

@Suite("What is sent, and in which order")
struct SendingTests {
    @Test("Text that is not UTF-8 is not sent")
    func invalidText() {
        let server = Endpoint(.server)
        #expect(throws: SendError.invalidUTF8) { try server.send(.text, [0xC3]) }
        #expect(throws: SendError.invalidUTF8) { try server.send(.text, [0xED, 0xA0, 0x80]) }
        #expect(server.written() == [])
    }

    @Test("Text sent in pieces may be cut inside a character, but must end with a whole one")
    func textInPieces() throws {
        let server = Endpoint(.server)
        try server.sendPiece(.text, [0xE2], isFirst: true)
        try server.sendPiece(.text, [0x82])
        #expect(throws: SendError.invalidUTF8) { try server.sendPiece(.text, [], isFinal: true) }
        try server.sendPiece(.text, [0xAC], isFinal: true)
        let bytes = server.written()
        #expect(bytes == frame(0x01, [0xE2]) + frame(0x00, [0x82]) + frame(0x80, [0xAC]))
        #expect(Endpoint().receive(bytes) == [.text("€")])
    }

    @Test("A first piece that is refused leaves the way free")
    func refusedFirstPiece() throws {
        let server = Endpoint(.server)
        #expect(throws: SendError.invalidUTF8) { try server.sendPiece(.text, [0xFF], isFirst: true) }
        try server.send("whole")
        try server.sendPiece(.binary, [1], isFirst: true, isFinal: true)
        #expect(Endpoint().receive(server.written()) == [.text("whole"), .binary([1])])
    }

    @Test("Messages do not mix: none begins inside another")
    func oneAtATime() throws {
        let server = Endpoint(.server)
        #expect(throws: SendError.noFragmentInProgress) { try server.sendPiece(.binary, [1]) }
        try server.sendPiece(.binary, [1], isFirst: true)
        #expect(throws: SendError.fragmentInProgress) { try server.send("no") }
        #expect(throws: SendError.fragmentInProgress) { try server.sendPiece(.text, [], isFirst: true) }
        try server.ping([9])
        try server.sendPiece(.binary, [2], isFinal: true)
        #expect(Endpoint().receive(server.written()) == [.ping([9]), .binary([1, 2])])
    }

    @Test("§5.5: control frames have at most 125 bytes")
    func controlLength() throws {
        let server = Endpoint(.server)
        let most = [UInt8](repeating: 1, count: 125)
        try server.ping(most)
        try server.pong(most)
        #expect(throws: SendError.controlTooLong(126)) { try server.ping(most + [1]) }
        #expect(throws: SendError.controlTooLong(126)) { try server.pong(most + [1]) }
        #expect(Endpoint().receive(server.written()) == [.ping(most), .pong(most)])
    }

    @Test(
        "Control frames pass ahead of waiting data, in their own order, but never go inside a started frame")
    func controlFirst() throws {
        let server = Endpoint(.server)
        try server.send("first")
        try server.send("second")
        // One byte of the first frame is on its way.
        #expect(server.outbox.withUnsafeBytes { $0[0] } == 0x81)
        server.outbox.consume(1)
        try server.ping([1])
        try server.ping([2])
        let rest = server.written()
        #expect(
            Endpoint().receive([0x81] + rest) == [.text("first"), .ping([1]), .ping([2]), .text("second")])
    }

    @Test("Written byte by byte with pings in between, every frame stays whole")
    func anyBoundary() throws {
        let server = Endpoint(.server)
        var wire: [UInt8] = []
        var expected: [Seen] = []
        for index in UInt8(0)..<20 {
            try server.send(.binary, [UInt8](repeating: index, count: Int(index) * 20))
            expected.append(.binary([UInt8](repeating: index, count: Int(index) * 20)))
        }
        var pings = 0
        while !server.outbox.isEmpty {
            wire.append(server.outbox.withUnsafeBytes { $0[0] })
            server.outbox.consume(1)
            if wire.count % 7 == 0, pings < 100 {
                try server.ping([UInt8(pings)])
                pings += 1
            }
        }
        let seen = Endpoint().receive(wire)
        #expect(seen.filter { if case .binary = $0 { true } else { false } } == expected)
        #expect(seen.filter { if case .ping = $0 { true } else { false } } == (0..<100).map { .ping([$0]) })
    }

    @Test("Ten pings have ten pongs")
    func everyPing() {
        let client = Endpoint()
        client.receive((0..<10).flatMap { frame(0x89, [$0]) })
        #expect(Endpoint(.server).receive(client.written()) == (0..<10).map { .pong([$0]) })
    }

    @Test("§5.5.3: a peer that pings and never reads fills no memory, and the last ping has its pong")
    func pingFlood() throws {
        let server = Endpoint(.server)
        let data = [UInt8](repeating: 7, count: 1 << 20)
        try server.send(.binary, data)
        let burst = (0..<5_000).flatMap { _ in
            frame(0x89, [UInt8](repeating: 1, count: 60), mask: [0, 0, 0, 0])
        }
        for _ in 0..<10 {
            server.receive(burst)
            // The socket takes one byte at a time, as good as none.
            #expect(server.outbox.withUnsafeBytes { $0.count } > 0)
            server.outbox.consume(1)
            #expect(server.outbox.count < data.count + 2 * Outbox.maxPongBytes + 1024)
        }
        server.receive(frame(0x89, "last", mask: [0, 0, 0, 0]))
        server.receive(frame(0x88, [], mask: [0, 0, 0, 0]))
        let wire = server.written()
        // What was consumed were ten bytes of the first frame on the wire.
        #expect(wire.suffix(2) == [0x88, 0x00])
        #expect(wire.count > data.count)
        #expect(wire.indices.contains { wire[$0...].starts(with: frame(0x8A, "last")) })
    }

    @Test("Bytes that wait are counted and forgotten")
    func counting() throws {
        let server = Endpoint(.server)
        #expect(server.written() == [])
        try server.ping([1, 2])
        try server.send("abc")
        #expect(server.outbox.count == 9)
        server.outbox.removeAll()
        #expect(server.written() == [])
        server.outbox.releaseIdleMemory()
        try server.send("d")
        #expect(server.written() == frame(0x81, "d"))
    }
}
