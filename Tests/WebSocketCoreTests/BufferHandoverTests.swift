import Testing
import WebSocketCore

@Suite("Memory of a connection's messages")
struct BufferHandoverTests {
    /// Gives `bytes` to the connection and expects one assembled message.
    private static func assemble(_ bytes: [UInt8], by client: Endpoint) throws {
        try bytes.withUnsafeBytes { input in
            var offset = 0
            let event = try client.connection.nextEvent(
                in: input, at: &offset, outbox: &client.outbox, maskKeys: &client.maskKeys)
            #expect(event == .message(.binary, .assembled))
        }
    }

    @Test("An assembled message is taken away whole, and its buffer serves the next one")
    func takeAndRecycle() throws {
        let client = Endpoint()
        try Self.assemble(frame(0x02, [1, 2]) + frame(0x80, [3]), by: client)
        let taken = client.connection.takeAssembled()
        let copy = taken.copied()
        let size = taken.allocatedByteCount
        #expect(copy == [1, 2, 3])
        #expect(client.connection.assemblyByteCount == 0)
        client.connection.recycle(taken)
        #expect(client.connection.assemblyByteCount == size)
        #expect(client.receive(frame(0x02, [4]) + frame(0x80, [5])) == [.binary([4, 5])])
    }

    @Test("A buffer that comes back while a message is put together does not disturb it")
    func recycleInsideMessage() throws {
        let client = Endpoint()
        try Self.assemble(frame(0x02, [1]) + frame(0x80, [2]), by: client)
        let taken = client.connection.takeAssembled()
        #expect(client.receive(frame(0x02, [3])) == [])
        client.connection.recycle(taken)
        #expect(client.receive(frame(0x80, [4])) == [.binary([3, 4])])
    }

    @Test("A large buffer is not kept")
    func recycleLarge() throws {
        let client = Endpoint()
        let large = [UInt8](repeating: 1, count: 1 << 20)
        try Self.assemble(frame(0x02, large) + frame(0x80), by: client)
        let taken = client.connection.takeAssembled()
        client.connection.recycle(taken)
        #expect(client.connection.assemblyByteCount == 0)
    }

    @Test("An idle connection holds no memory; one inside a message keeps what it has of it")
    func idle() {
        let client = Endpoint()
        #expect(client.receive(frame(0x02, [1]) + frame(0x80, [2])) == [.binary([1, 2])])
        client.connection.releaseIdleMemory()
        #expect(client.connection.assemblyByteCount == 0)
        #expect(client.receive(frame(0x02, [3])) == [])
        client.connection.releaseIdleMemory()
        #expect(client.receive(frame(0x80, [4])) == [.binary([3, 4])])
        #expect(client.receive([0x81, 0x04, 0x61]) == [])
        client.connection.releaseIdleMemory()
        #expect(client.receive([0x62, 0x63, 0x64]) == [.text("abcd")])
    }

    @Test("A streaming server that is idle inside a message goes on with it")
    func idleStreaming() {
        let server = Endpoint(.server, isStreaming: true)
        let mask: [UInt8] = [9, 8, 7, 6]
        #expect(
            server.receive(frame(0x02, [1, 2], mask: mask))
                == [.piece(.binary, [1, 2], isFirst: true, isFinal: false)])
        server.connection.releaseIdleMemory()
        #expect(
            server.receive(frame(0x80, [3], mask: mask))
                == [.piece(.binary, [3], isFirst: false, isFinal: true)])
    }
}
