import Testing
@testable import WebSocketClient

@Suite("Closing", .timeLimit(.minutes(2)))
struct ClosingTests {
    @Test("E1: a close frame without a code is answered with one, and reported as 1005")
    func noCode() async throws {
        let (entries, end, frame) = try await FramingTests.outcome([0x88, 0x00])
        #expect(frame == ScriptedFrame(head: 0x88, payload: []))
        #expect(entries == [.opened, .ended])
        #expect(end?.error == nil)
        #expect(end?.closeInfo.code == .noStatusReceived)
        #expect(end?.closeInfo.received == CloseFrame(code: nil))
        #expect(end?.closeInfo.sent == CloseFrame(code: nil))
        #expect(end?.closeInfo.initiator == .remote)
        #expect(end?.closeInfo.isClean == true)
    }

    @Test("E1: half a code fails the connection")
    func halfCode() async throws {
        try await FramingTests.expectFailure(1002, "RFC 6455 §5.5.1", [0x88, 0x01, 0x03])
    }

    @Test("E1: data behind the close frame is not delivered")
    func dataBehindClose() async throws {
        let (entries, end, frame) = try await FramingTests.outcome(
            [0x88, 0x02, 0x03, 0xE8, 0x81, 0x01, 0x61])
        #expect(entries == [.opened, .ended])
        #expect(frame == .close(1000))
        #expect(end?.closeInfo.code == .normalClosure)
    }

    @Test("E6: messages in front of the close frame are delivered first")
    func messageBeforeClose() async throws {
        let (entries, end, frame) = try await FramingTests.outcome(
            ScriptedFrame.text("last").bytes + ScriptedFrame.close(4001, "go").bytes)
        #expect(entries == [.opened, .text("last"), .ended])
        #expect(frame == .close(4001))
        #expect(end?.closeInfo.code.rawValue == 4001)
        #expect(end?.closeInfo.reason == "go")
        #expect(end?.error == nil)
    }

    @Test(
        "E2: the end of TCP without a close frame ends everything that waits, once",
        arguments: [
            ([], "idle"), ([0x81, 0x05, 0x48, 0x65], "in a frame"),
            ([0x01, 0x02, 0x48, 0x65], "between fragments"),
            ([0x81], "in a head"),
        ] as [([UInt8], String)])
    func bareFIN(bytes: [UInt8], place: String) async throws {
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url)
        let peer = try await server.acceptUpgraded()
        let socket = try await connecting
        async let iterating = webSocketError {
            for try await _ in socket.messages { Issue.record("a message") }
        }
        async let pinging = webSocketError { _ = try await socket.ping() }
        async let closed = socket.closed()
        let ping = try await peer.readFrame()
        #expect(ping.head == 0x89)
        try await peer.write(bytes)
        await peer.finish()
        #expect(await iterating?.kind == .transport)
        #expect(await pinging?.kind == .transport)
        let end = await closed
        #expect(end.error?.kind == .transport)
        #expect(end.error?.message.contains("in the middle of a message") == !bytes.isEmpty)
        #expect(end.closeInfo.code == .abnormalClosure)
        #expect(end.closeInfo.received == nil)
        #expect(end.closeInfo.sent == nil)
        #expect(end.closeInfo.initiator == nil)
        #expect(await webSocketError { try await socket.send("late") }?.kind == .closed)
        #expect(await webSocketError { _ = try await socket.ping() }?.kind == .closed)
    }

    @Test("E2: the end of TCP ends a send that waits")
    func bareFINWhileSending() async throws {
        var options = WebSocketOptions()
        options.writeHighWater = 64 << 10
        options.writeLowWater = 16 << 10
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url, options: options)
        let peer = try await server.acceptUpgraded(smallBuffers: true)
        let socket = try await connecting
        async let sending = webSocketError {
            let bytes = [UInt8](repeating: 1, count: 1 << 20)
            while true { try await socket.send(bytes) }
        }
        // The peer does not read, so the kernel's buffers fill, and then ours.
        while await !socket.handle.driver.isCongested { await rounds(1) }
        await peer.finish()
        #expect([.transport, .closed].contains(await sending?.kind))
        #expect(await socket.closed().error?.kind == .transport)
    }

    @Test("E3: a peer that keeps talking instead of answering is left after closeTimeout")
    func talkingPeer() async throws {
        var options = WebSocketOptions()
        options.closeTimeout = .milliseconds(300)
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder, options)
        let peer = try await server.acceptUpgraded()
        await recorder.wait(for: .opened)
        link.close(.normalClosure, reason: "bye")
        #expect(try await peer.readFrame() == .close(1000, "bye"))
        let talking = Task {
            // Ends with the client's reset.
            while true {
                try await peer.write([0x81, 0x01, 0x61])
                await rounds(1)
            }
        }
        let end = await recorder.end()
        #expect(end?.error?.kind == .timeout)
        #expect(end?.error?.phase == .closing)
        #expect(end?.closeInfo.code == .abnormalClosure)
        #expect(end?.closeInfo.initiator == .local)
        #expect(end?.closeInfo.sent?.code == .normalClosure)
        #expect(recorder.entries == [.opened, .ended])
        await #expect(throws: (any Error).self) { try await talking.value }
        #expect(recorder.entries == [.opened, .ended])
    }

    @Test("E3: a peer that stops reading with full buffers is left after closeTimeout")
    func deafPeer() async throws {
        var options = WebSocketOptions()
        options.closeTimeout = .milliseconds(300)
        options.writeHighWater = 64 << 10
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder, options)
        let peer = try await server.acceptUpgraded(smallBuffers: true)
        await recorder.wait(for: .opened)
        while link.send(.binary, [UInt8](repeating: 1, count: 256 << 10)) != .congested { await rounds(1) }
        link.close()
        let end = await recorder.end()
        #expect(end?.error?.kind == .timeout)
        #expect(end?.closeInfo.initiator == .local)
        // What the client had not written is dropped: a reset, no FIN.
        await #expect(throws: (any Error).self) { while try await peer.read() != nil {} }
    }

    @Test("A peer that answered the close frame but keeps TCP open is left after closeTimeout, in order")
    func keptOpen() async throws {
        var options = WebSocketOptions()
        options.closeTimeout = .milliseconds(300)
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder, options)
        let peer = try await server.acceptUpgraded()
        await recorder.wait(for: .opened)
        link.close()
        _ = try await peer.readFrame()
        try await peer.write(ScriptedFrame.close(1000).bytes)
        let end = await recorder.end()
        #expect(end?.error == nil)
        #expect(end?.closeInfo.isClean == true)
    }

    @Test("Both codes and who was first are told, on both sides")
    func bothSides() async throws {
        let served = Recorder { entry, link in
            if entry == .text("close me") { link.close(CloseCode(rawValue: 4100), reason: "asked") }
        }
        let listener = try await WebSocketListener.listen { _ in .accept(served) }
        defer { listener.close() }
        let recorder = Recorder { entry, link in
            if entry == .opened { link.send("close me") }
        }
        _ = WebSocketHandle.connect(to: "ws://127.0.0.1:\(listener.port)", handler: recorder)
        let ours = await recorder.end()
        let theirs = await served.end()
        #expect(ours?.closeInfo.received == CloseFrame(code: CloseCode(rawValue: 4100), reason: "asked"))
        #expect(ours?.closeInfo.sent == CloseFrame(code: CloseCode(rawValue: 4100)))
        #expect(ours?.closeInfo.initiator == .remote)
        #expect(ours?.error == nil)
        #expect(theirs?.closeInfo.sent == CloseFrame(code: CloseCode(rawValue: 4100), reason: "asked"))
        #expect(theirs?.closeInfo.received == CloseFrame(code: CloseCode(rawValue: 4100)))
        #expect(theirs?.closeInfo.initiator == .local)
        #expect(theirs?.error == nil)
    }

    @Test("Close frames that cross are one closing handshake")
    func crossing() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder)
        let peer = try await server.acceptUpgraded()
        await recorder.wait(for: .opened)
        link.close(CloseCode(rawValue: 3001))
        await rounds(1)
        try await peer.write(ScriptedFrame.close(3002).bytes)
        #expect(try await peer.readFrame() == .close(3001))
        await peer.finish()
        // No second close frame.
        #expect(await peer.readToEnd() == [])
        let end = await recorder.end()
        #expect(end?.closeInfo.sent?.code?.rawValue == 3001)
        #expect(end?.closeInfo.received?.code?.rawValue == 3002)
        #expect(end?.error == nil)
    }

    @Test("Closing gets through messages that nobody reads")
    func unreadMessages() async throws {
        var options = WebSocketOptions()
        options.readHighWater = 1000
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url, options: options)
        let peer = try await server.acceptUpgraded()
        let socket = try await connecting
        let message = ScriptedFrame(head: 0x82, payload: Array(repeating: 7, count: 500)).bytes
        async let flooding: Void = {
            for _ in 0..<20_000 { try await peer.write(message) }
        }()
        async let closing: Void = socket.close(code: .goingAway, reason: "enough")
        #expect(try await peer.readFrame() == .close(1001, "enough"))
        try await flooding
        try await peer.write(ScriptedFrame.close(1001).bytes)
        await peer.finish()
        await closing
        #expect(socket.closeInfo?.isClean == true)
        #expect(socket.closeInfo?.initiator == .local)
        // What had arrived before is still there.
        for try await message in socket.messages {
            #expect(message == .binary(Array(repeating: 7, count: 500)))
        }
    }

    @Test("Closing twice, and by two tasks, closes once")
    func twice() async throws {
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url)
        let peer = try await server.acceptUpgraded()
        let socket = try await connecting
        async let first: Void = socket.close(reason: "a")
        async let second: Void = socket.close(reason: "a")
        #expect(try await peer.readFrame() == .close(1000, "a"))
        try await peer.write(ScriptedFrame.close(1000).bytes)
        await peer.finish()
        _ = await (first, second)
        await socket.close(code: .goingAway)
        #expect(socket.closeInfo?.sent?.code == .normalClosure)
        #expect(await peer.readToEnd() == [])
    }

    @Test("Closing waits for what was sent before")
    func behindData() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder)
        let peer = try await server.acceptUpgraded(smallBuffers: true)
        await recorder.wait(for: .opened)
        let message = [UInt8](repeating: 3, count: 4 << 20)
        #expect(link.send(.binary, message) == .queued)
        link.close()
        #expect(try await peer.readFrame() == ScriptedFrame(head: 0x82, payload: message))
        #expect(try await peer.readFrame() == .close(1000))
        try await peer.write(ScriptedFrame.close(1000).bytes)
        await peer.finish()
        #expect(await recorder.end()?.error == nil)
    }

    @Test(
        "A code or a reason that may not be sent becomes 1000",
        arguments: [
            (CloseCode.noStatusReceived, ""), (.abnormalClosure, ""), (CloseCode(rawValue: 999), "x"),
            (.normalClosure, String(repeating: "x", count: 124)),
        ])
    func unsendable(code: CloseCode, reason: String) async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder)
        let peer = try await server.acceptUpgraded()
        await recorder.wait(for: .opened)
        link.close(code, reason: reason)
        #expect(try await peer.readFrame() == .close(1000))
        await peer.close()
        _ = await recorder.end()
    }

    @Test("A violation after our close frame is a violation, and no second close frame is sent")
    func violationWhileClosing() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder)
        let peer = try await server.acceptUpgraded()
        await recorder.wait(for: .opened)
        link.close()
        #expect(try await peer.readFrame() == .close(1000))
        try await peer.write([0x83, 0x00])
        #expect(await recorder.end()?.error?.kind == .violation)
        await peer.finish()
        #expect(await peer.readToEnd() == [])
    }
}
