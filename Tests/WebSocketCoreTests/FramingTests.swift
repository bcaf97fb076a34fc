import Testing
import WebSocketCore

@Suite("Frames, RFC 6455 §5")
struct FramingTests {
    static let key: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]

    @Test("§5.7: the examples of the RFC, as a client reads them")
    func examplesForClient() throws {
        let client = Endpoint()
        #expect(client.receive([0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]) == [.text("Hello")])
        #expect(client.receive([0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F]) == [.text("Hello")])
        #expect(client.receive([0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]) == [.ping(Array("Hello".utf8))])
        let of256 = [UInt8](repeating: 7, count: 256)
        #expect(client.receive([0x82, 0x7E, 0x01, 0x00] + of256) == [.binary(of256)])
        let of64K = [UInt8](repeating: 8, count: 65536)
        #expect(client.receive([0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + of64K) == [.binary(of64K)])
    }

    @Test("§5.7: the examples of the RFC, as a server reads them")
    func examplesForServer() {
        let server = Endpoint(.server)
        let hello: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(server.receive(hello) == [.text("Hello")])
        let pong: [UInt8] = [0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(server.receive(pong) == [.pong(Array("Hello".utf8))])
    }

    @Test("§5.2: every form of the length, both ways", arguments: [0, 1, 125, 126, 127, 65535, 65536, 70001])
    func lengths(count: Int) throws {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(Endpoint().receive(frame(0x82, payload)) == [.binary(payload)])
        #expect(Endpoint(.server).receive(frame(0x82, payload, mask: Self.key)) == [.binary(payload)])

        let server = Endpoint(.server)
        try server.send(.binary, payload)
        #expect(server.written() == frame(0x82, payload))
        let client = Endpoint()
        try client.send(.binary, payload)
        #expect(client.written() == frame(0x82, payload, mask: [1, 2, 3, 4]))
    }

    @Test("§5.3: each frame of a client has a key of its own")
    func keys() throws {
        let client = Endpoint()
        try client.send("a")
        try client.send("b")
        #expect(
            client.written() == frame(0x81, "a", mask: [1, 2, 3, 4]) + frame(0x81, "b", mask: [5, 6, 7, 8]))
    }

    @Test("§5.3: a payload that arrives in pieces goes on with the key where it stopped")
    func maskAcrossPieces() {
        let payload = (0..<67).map { UInt8($0) }
        let bytes = frame(0x82, payload, mask: Self.key)
        for length in 1...13 {
            let server = Endpoint(.server)
            let pieces = stride(from: 0, to: bytes.count, by: length).map {
                bytes[$0..<min($0 + length, bytes.count)]
            }
            #expect(server.receive(pieces: pieces) == [.binary(payload)])
        }
    }

    @Test("§5.4: a message in fragments, with control frames between them")
    func fragments() {
        let client = Endpoint()
        #expect(client.receive(frame(0x02, [1]) + frame(0x89, "p")) == [.ping(Array("p".utf8))])
        #expect(client.receive(frame(0x00, [2]) + frame(0x8A)) == [.pong([])])
        #expect(client.receive(frame(0x00) + frame(0x80, [3])) == [.binary([1, 2, 3])])
        #expect(client.written() == frame(0x8A, "p", mask: [1, 2, 3, 4]))
    }

    @Test(
        "B2: a pong for the ping between fragments comes before the message ends; empty frames are messages")
    func controlFramesBetweenFragments() {
        let client = Endpoint()
        let start: [UInt8] = [0x01, 0x03, 0x48, 0x65, 0x6C, 0x89, 0x02, 0x68, 0x69]
        #expect(client.receive(start) == [.ping(Array("hi".utf8))])
        #expect(client.written() == frame(0x8A, "hi", mask: [1, 2, 3, 4]))
        let rest: [UInt8] = [0x00, 0x00, 0x8A, 0x00, 0x80, 0x02, 0x6C, 0x6F, 0x81, 0x00]
        #expect(client.receive(rest) == [.pong([]), .text("Hello"), .text("")])
    }

    @Test("B5: 200,000 frames in one piece, without recursion", .timeLimit(.minutes(2)))
    func manyFrames() {
        let count = 200_000
        let bytes = [[UInt8]](repeating: [0x81, 0x01, 0x61], count: count).flatMap { $0 }
        let client = Endpoint()
        var messages = 0
        bytes.withUnsafeBytes { input in
            var offset = 0
            while case .message(.text, .input(let range))? = try? client.connection.nextEvent(
                in: input, at: &offset, outbox: &client.outbox, maskKeys: &client.maskKeys)
            {
                if input[range.lowerBound] == 0x61, range.count == 1 { messages += 1 }
            }
            #expect(offset == input.count)
        }
        #expect(messages == count)
    }

    @Test("A whole unmasked message inside the input is named there, not copied")
    func inPlace() throws {
        let client = Endpoint()
        let bytes = frame(0x81, "one") + frame(0x82, "two")
        try bytes.withUnsafeBytes { input in
            var offset = 0
            let first = try client.connection.nextEvent(
                in: input, at: &offset, outbox: &client.outbox, maskKeys: &client.maskKeys)
            #expect(first == .message(.text, .input(2..<5)))
            let second = try client.connection.nextEvent(
                in: input, at: &offset, outbox: &client.outbox, maskKeys: &client.maskKeys)
            #expect(second == .message(.binary, .input(7..<10)))
        }
        #expect(client.connection.assemblyByteCount == 0)
    }

    @Test("The declared length of a frame that has not come reserves little")
    func noAllocationByDeclaredLength() {
        let client = Endpoint()
        // 64 MiB declared, three bytes sent.
        #expect(client.receive([0x82, 0x7F, 0, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3]) == [])
        #expect(client.connection.assemblyByteCount <= 64 << 10)
        #expect(client.isInsideMessage)
    }

    @Test("§5.2: a head with a 64-bit length, cut at each of its bytes", arguments: [Role.client, .server])
    func longHeadCut(role: Role) {
        let payload = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let bytes = frame(0x82, payload, mask: role == .server ? Self.key : nil)
        for cut in 0...16 {
            let end = Endpoint(role)
            let isSame = end.receive(pieces: [bytes[..<cut], bytes[cut...]]) == [.binary(payload)]
            #expect(isSame, "cut at \(cut)")
        }
        let head = (0..<16).map { bytes[$0...$0] }
        let isSame = Endpoint(role).receive(pieces: head + [bytes[16...]]) == [.binary(payload)]
        #expect(isSame)
    }
}
