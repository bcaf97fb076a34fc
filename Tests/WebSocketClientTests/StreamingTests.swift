import Testing
@testable import WebSocketClient

@Suite("Messages in pieces", .timeLimit(.minutes(2)))
struct StreamingTests {
    private func connected(
        _ change: (inout WebSocketOptions) -> Void = { _ in }
    ) async throws -> (WebSocket, ScriptedConnection) {
        var options = WebSocketOptions()
        change(&options)
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url, options: options)
        let peer = try await server.acceptUpgraded()
        return (try await connecting, peer)
    }

    private struct Failure: Error {}

    @Test("A message sent in pieces arrives as one message of fragments")
    func fragments() async throws {
        let (socket, peer) = try await connected()
        let euro = Array("€".utf8)
        let result = try await socket.send(.text) { writer in
            try await writer.write("a")
            try await writer.write(Array(euro[..<1]))
            try await writer.write(Array(euro[1...]))
            return 7
        }
        #expect(result == 7)
        #expect(try await peer.readFrame() == ScriptedFrame(head: 0x01, payload: [0x61]))
        #expect(try await peer.readFrame() == ScriptedFrame(head: 0x00, payload: Array(euro[..<1])))
        #expect(try await peer.readFrame() == ScriptedFrame(head: 0x00, payload: Array(euro[1...])))
        #expect(try await peer.readFrame() == ScriptedFrame(head: 0x80, payload: []))
        try await socket.send(.binary) { _ in }
        #expect(try await peer.readFrame() == ScriptedFrame(head: 0x82, payload: []))
        socket.abort()
    }

    @Test("Other messages wait until the pieces are complete; pings do not")
    func others() async throws {
        let (socket, peer) = try await connected()
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (mayEnd, end) = AsyncStream.makeStream(of: Void.self)
        async let streaming: Void = socket.send(.binary) { writer in
            try await writer.write([1])
            begin.finish()
            for await _ in mayEnd {}
            try await writer.write([2])
        }
        for await _ in begun {}
        async let other: Void = socket.send("other")
        async let second: Void = socket.send(.text) { try await $0.write("second") }
        async let ping = socket.ping()
        #expect(try await peer.readFrame() == ScriptedFrame(head: 0x02, payload: [1]))
        let pinged = try await peer.readFrame()
        #expect(pinged.head == 0x89)
        try await peer.write(ScriptedFrame(head: 0x8A, payload: pinged.payload).bytes)
        _ = try await ping
        await rounds(20)
        end.finish()
        #expect(try await peer.readFrame() == ScriptedFrame(head: 0x00, payload: [2]))
        #expect(try await peer.readFrame() == ScriptedFrame(head: 0x80, payload: []))
        var rest: [ScriptedFrame] = []
        while rest.count < 3 { rest.append(try await peer.readFrame()) }
        let text = ScriptedFrame.text("other")
        let pieces = [
            ScriptedFrame(head: 0x01, payload: Array("second".utf8)), ScriptedFrame(head: 0x80, payload: []),
        ]
        #expect(rest == [text] + pieces || rest == pieces + [text])
        try await streaming
        try await other
        try await second
        socket.abort()
    }

    @Test("A body that throws closes the connection with 1011")
    func throwing() async throws {
        let (socket, peer) = try await connected()
        await #expect(throws: Failure.self) {
            try await socket.send(.binary) { writer in
                try await writer.write([1])
                throw Failure()
            }
        }
        #expect(try await peer.readFrame() == ScriptedFrame(head: 0x02, payload: [1]))
        #expect(try await peer.readFrame().closeCode == 1011)
        #expect(await webSocketError { try await socket.send("x") }?.kind == .closed)
        await peer.close()
        _ = await socket.closed()
    }

    @Test("Text in pieces has to be UTF-8 in the end")
    func invalidText() async throws {
        let (socket, peer) = try await connected()
        let error = await webSocketError {
            try await socket.send(.text) { try await $0.write([0xE2, 0x82]) }
        }
        #expect(error?.kind == .misuse)
        #expect(try await peer.readFrame().head == 0x01)
        #expect(try await peer.readFrame().closeCode == 1011)
        await peer.close()
        _ = await socket.closed()
    }

    @Test("A large message is read piece by piece, long before its end")
    func incoming() async throws {
        let (socket, peer) = try await connected { $0.streamsMessages = true }
        let head = Array(
            ScriptedFrame(head: 0x82, payload: Array(repeating: 5, count: 1 << 20)).bytes.prefix(10))
        try await peer.write(head + Array(repeating: 5, count: 1000))
        var streams = socket.streams.makeAsyncIterator()
        let message = try #require(try await streams.next())
        #expect(message.kind == .binary)
        var pieces = message.makeAsyncIterator()
        var count = 0
        while count < 1000 { count += try await #require(pieces.next()).count }
        async let rest: Void = peer.write(
            Array(repeating: 5, count: (1 << 20) - 1000) + ScriptedFrame.text("next").bytes)
        while let piece = try await pieces.next() {
            #expect(piece.allSatisfy { $0 == 5 })
            count += piece.count
        }
        #expect(count == 1 << 20)
        try await rest
        let next = try #require(try await streams.next())
        #expect(next.kind == .text)
        var text: [UInt8] = []
        for try await piece in next { text += piece }
        #expect(text == Array("next".utf8))
        socket.abort()
    }

    @Test("What was not read of a message is skipped")
    func skipping() async throws {
        let (socket, peer) = try await connected { $0.streamsMessages = true }
        try await peer.write(
            [0x01, 0x01, 0x61, 0x00, 0x01, 0x62, 0x80, 0x01, 0x63] + ScriptedFrame.text("second").bytes
                + [0x01, 0x01, 0x61, 0x80, 0x01, 0x62] + ScriptedFrame.text("fourth").bytes)
        var streams = socket.streams.makeAsyncIterator()
        let first = try #require(try await streams.next())
        var pieces = first.makeAsyncIterator()
        #expect(try await pieces.next() == [0x61])
        let second = try #require(try await streams.next())
        for try await piece in second { #expect(piece == Array("second".utf8)) }
        _ = try #require(try await streams.next())
        // A new iterator begins with a new message as well.
        var whole = socket.messages.makeAsyncIterator()
        #expect(try await whole.next() == .text("fourth"))
        socket.abort()
    }

    @Test("Whole messages of a socket that streams are put together")
    func reassembled() async throws {
        let (socket, peer) = try await connected { $0.streamsMessages = true }
        try await peer.write([
            0x01, 0x02, 0xE2, 0x82, 0x00, 0x00, 0x80, 0x01, 0xAC, 0x82, 0x00, 0x82, 0x01, 0x07,
        ])
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("€"))
        #expect(try await messages.next() == .binary([]))
        #expect(try await messages.next() == .binary([7]))
        socket.abort()
    }

    @Test("A handler that streams is told where messages begin and end")
    func handler() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        var options = WebSocketOptions()
        options.streamsMessages = true
        let link = connect(server, recorder, options)
        let peer = try await server.acceptUpgraded()
        try await peer.write([0x01, 0x01, 0x61, 0x89, 0x00, 0x80, 0x01, 0x62, 0x81, 0x00])
        await recorder.wait { $0.count >= 4 }
        #expect(
            recorder.entries == [
                .opened, .fragment("a", isFirst: true, isFinal: false),
                .fragment("b", isFirst: false, isFinal: true),
                .fragment("", isFirst: true, isFinal: true),
            ])
        link.abort()
    }

    @Test("A message that is cut by the connection's end throws")
    func cut() async throws {
        let (socket, peer) = try await connected { $0.streamsMessages = true }
        try await peer.write([0x02, 0x01, 0x61])
        await peer.finish()
        let error = await webSocketError {
            for try await message in socket.streams { for try await _ in message {} }
        }
        #expect(error?.kind == .transport)
    }
}
