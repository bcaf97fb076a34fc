import Testing
@testable import WebSocketCore

@Suite("What an outbox lets overtake, RFC 6455 §5.4, §5.5")
struct OutboxOrderTests {
    /// Takes up to `count` bytes as a socket would, which may take fewer than it is shown.
    private static func write(_ count: Int, from end: Endpoint) -> [UInt8] {
        let bytes = end.outbox.withUnsafeBytes { Array($0.prefix(count)) }
        end.outbox.consume(bytes.count)
        return bytes
    }

    @Test(
        "Writes of every size: frames stay whole, controls keep their order, a close overtakes no data",
        arguments: [Role.client, .server])
    func everySize(role: Role) throws {
        // Each form of the length is among them, so that the walk over waiting heads meets all three.
        let sizes = [0, 1, 125, 126, 300, 65_535, 65_536, 3]
        for size in Array(1...40) + [125, 126, 127, 128, 1000, 65_536, 65_550, 200_000] {
            let end = Endpoint(role)
            for (index, count) in sizes.enumerated() {
                try end.send(.binary, [UInt8](repeating: UInt8(index), count: count))
            }
            var wire: [UInt8] = []
            var controls: [Seen] = []
            while !end.outbox.isEmpty {
                // Small writes would take too many rounds through the large frames in the middle.
                let isInsideLarge = wire.count > 700 && end.outbox.count > 200
                wire += Self.write(isInsideLarge ? max(size, 10_007) : size, from: end)
                guard controls.count < 12 else {
                    if end.connection.closing.isOpen { try end.close(1000) }
                    continue
                }
                let number = UInt8(controls.count)
                if number % 3 == 2 { try end.pong([number]) } else { try end.ping([number]) }
                controls.append(number % 3 == 2 ? .pong([number]) : .ping([number]))
            }
            let seen = Endpoint(role == .client ? .server : .client).receive(wire)
            let data = seen.filter { if case .binary = $0 { true } else { false } }
            let others = seen.filter { if case .binary = $0 { false } else { true } }
            let expected = sizes.enumerated().map { index, count in
                Seen.binary([UInt8](repeating: UInt8(index), count: count))
            }
            if data != expected { Issue.record("data frames are cut or moved, writes of \(size)") }
            let isClosed = !end.connection.closing.isOpen
            #expect(others == controls + (isClosed ? [.close(1000, "")] : []), "writes of \(size)")
            if isClosed { #expect(seen.last == .close(1000, "")) }
        }
    }

    @Test("A control frame waits behind a frame with a 64-bit length of which one byte is written")
    func behindLargeFrame() throws {
        for role in [Role.client, .server] {
            let end = Endpoint(role)
            let large = [UInt8](repeating: 3, count: 70_000)
            try end.send(.binary, large)
            try end.send("after")
            let first = Self.write(1, from: end)
            try end.ping([1])
            let seen = Endpoint(role == .client ? .server : .client).receive(first + end.written())
            #expect(seen == [.binary(large), .ping([1]), .text("after")])
        }
    }

    @Test(
        "Controls are not held back for ever by writes that are each encrypted first and end inside a frame",
        arguments: [1, 7, 9, 11, 15, 25])
    func committedWrites(size: Int) throws {
        let server = Endpoint(.server)
        for _ in 0..<100 { try server.send(.binary, [UInt8](repeating: 7, count: 8)) }
        var wire = Self.write(1, from: server)
        try server.ping([1])
        // The first ping joins the queue, and only then is the second one asked for.
        wire += Self.write(1, from: server)
        try server.ping([2])
        while !server.outbox.isEmpty {
            server.outbox.withUnsafeBytes { _ in }
            server.outbox.commit(size)
            wire += Self.write(size, from: server)
        }
        let seen = Endpoint().receive(wire)
        let place = try #require(seen.firstIndex(of: .ping([2])))
        #expect(seen.firstIndex(of: .ping([1])) == 1)
        // Behind the first ping, what was encrypted then, and the frame in which that ended.
        #expect(place <= 2 + 3 * (size / 10 + 2))
    }

    @Test(
        "What is committed stays below its bound, however often a peer pings", arguments: [11, 1000, 16_384])
    func committedFlood(size: Int) throws {
        let server = Endpoint(.server)
        for _ in 0..<2_000 { try server.send(.binary, [UInt8](repeating: 7, count: 98)) }
        let data = server.outbox.count
        let burst = (0..<4_000).flatMap { _ in
            frame(0x89, [UInt8](repeating: 1, count: 100), mask: [0, 0, 0, 0])
        }
        for _ in 0..<6 {
            server.receive(burst)
            server.outbox.withUnsafeBytes { _ in }
            server.outbox.commit(size)
            _ = Self.write(size, from: server)
            #expect(server.outbox.count < data + 3 * Outbox.maxPongBytes)
        }
    }
}
