import Testing
@testable import WebSocketClient

@Suite("The tasks' face", .timeLimit(.minutes(2)))
struct WebSocketTests {
    private func connected() async throws -> (WebSocket, ScriptedConnection) {
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url)
        let peer = try await server.acceptUpgraded()
        return (try await connecting, peer)
    }

    @Test("Iterating gives the messages in order and ends with the closing handshake")
    func iterating() async throws {
        let (socket, peer) = try await connected()
        try await peer.write(
            ScriptedFrame.text("a").bytes + [0x82, 0x01, 0x07] + ScriptedFrame.close(1000, "done").bytes)
        async let finishing: Void = {
            _ = try await peer.readFrame()
            await peer.finish()
        }()
        var messages: [WebSocket.Message] = []
        for try await message in socket.messages { messages.append(message) }
        #expect(messages == [.text("a"), .binary([7])])
        #expect(await socket.closed().error == nil)
        #expect(socket.closeInfo?.reason == "done")
        try await finishing
    }

    @Test("A cancelled iteration ends, and iterating again goes on with the next message")
    func cancelledIteration() async throws {
        let (socket, peer) = try await connected()
        try await peer.write(ScriptedFrame.text("0").bytes)
        var next = 0
        for round in 1...50 {
            let iterating = Task {
                var last = -1
                do {
                    for try await message in socket.messages {
                        if case .text(let text) = message { last = Int(text) ?? -2 }
                    }
                } catch is CancellationError {}
                return last
            }
            // The message races with the cancellation: it comes now, or to the next task.
            async let writing: Void = peer.write(ScriptedFrame.text("\(round)").bytes)
            iterating.cancel()
            try await writing
            let last = try await iterating.value
            if last >= 0 {
                #expect(last >= next)
                next = last + 1
            }
        }
        var messages = socket.messages.makeAsyncIterator()
        while next <= 50 {
            #expect(try await messages.next() == .text("\(next)"))
            next += 1
        }
        socket.abort()
    }

    @Test("A cancelled connect throws CancellationError and leaves nothing")
    func cancelledConnect() async throws {
        let server = try ScriptedServer()
        let connecting = Task { try await WebSocket.connect(to: server.url) }
        let peer = try await server.accept()
        _ = try await peer.readHead()
        connecting.cancel()
        await #expect(throws: CancellationError.self) { try await connecting.value }
        #expect(await peer.readToEnd() == [])
    }

    @Test("Letting go of the last reference closes with 1001")
    func dropped() async throws {
        let peer: ScriptedConnection
        do {
            let (socket, connection) = try await connected()
            peer = connection
            try await socket.send("here")
            #expect(try await peer.readFrame() == .text("here"))
        }
        #expect(try await peer.readFrame() == .close(1001))
        try await peer.write(ScriptedFrame.close(1001).bytes)
        await peer.finish()
        #expect(await peer.readToEnd() == [])
    }

    @Test("Who holds the messages alone holds the connection")
    func sequenceAlone() async throws {
        var (socket, peer): (WebSocket?, ScriptedConnection) = try await connected()
        let messages = try #require(socket).messages
        socket = nil
        try await peer.write(ScriptedFrame.text("a").bytes)
        for try await message in messages {
            #expect(message == .text("a"))
            break
        }
        try await peer.write(ScriptedFrame.text("b").bytes + ScriptedFrame.close(1000).bytes)
        #expect(try await peer.readFrame() == .close(1000))
        await peer.finish()
        var rest: [WebSocket.Message] = []
        for try await message in messages { rest.append(message) }
        #expect(rest == [.text("b")])
    }

    @Test("Messages of 0 bytes to 16 MiB come back as they were", arguments: [false, true], [false, true])
    func echo(isSecure: Bool, deflates: Bool) async throws {
        let identity = isSecure ? try LoopbackIdentity() : nil
        let listener = try await listenEcho(identity: identity) { options in
            options.deflate = deflates ? DeflateOptions() : nil
            options.writeHighWater = 64 << 20
        }
        defer { listener.close() }
        var options = WebSocketOptions()
        options.deflate = deflates ? DeflateOptions() : nil
        if let identity { options.tls.trust = .pem(identity.authorityPEM) }
        let url = "\(isSecure ? "wss" : "ws")://127.0.0.1:\(listener.port)/"
        let socket = try await WebSocket.connect(to: url, options: options)
        #expect((socket.agreement.extensions != nil) == deflates)
        #expect((socket.agreement.tlsVersion != nil) == isSecure)
        var random = SplitMix(seed: 16)
        let noise = (0..<4096).map { _ in UInt8.random(in: 0...255, using: &random) }
        var messages = socket.messages.makeAsyncIterator()
        for size in [0, 1, 125, 126, 65535, 65536, 1 << 20, 16 << 20] {
            var message = [UInt8]()
            message.reserveCapacity(size + noise.count)
            while message.count < size { message += noise }
            message.removeLast(message.count - size)
            try await socket.send(message)
            // Compared before #expect sees it, which would describe 16 MiB.
            let isSame = try await messages.next() == .binary(message)
            #expect(isSame, "\(size) bytes")
        }
        let text = String(repeating: "čau 😀 ", count: 10_000)
        try await socket.send(text)
        let isSameText = try await messages.next() == .text(text)
        #expect(isSameText)
        await socket.close()
        #expect(socket.closeInfo?.isClean == true)
    }

    @Test("Two connections do not know of each other")
    func two() async throws {
        let listener = try await listenEcho()
        defer { listener.close() }
        let first = try await WebSocket.connect(to: "ws://127.0.0.1:\(listener.port)/")
        let second = try await WebSocket.connect(to: "ws://127.0.0.1:\(listener.port)/")
        var firstMessages = first.messages.makeAsyncIterator()
        var secondMessages = second.messages.makeAsyncIterator()
        try await first.send("1")
        try await second.send("2")
        #expect(try await secondMessages.next() == .text("2"))
        #expect(try await firstMessages.next() == .text("1"))
        await first.close()
        try await second.send("still")
        #expect(try await secondMessages.next() == .text("still"))
        await second.close()
    }
}
