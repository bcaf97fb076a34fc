import Testing
@testable import WebSocketClient

@Suite("Pings", .timeLimit(.minutes(2)))
struct PingTests {
    @Test("A ping gives the time until its own pong; other pongs mean nothing")
    func roundTrip() async throws {
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url)
        let peer = try await server.acceptUpgraded()
        let socket = try await connecting
        async let duration = socket.ping()
        let ping = try await peer.readFrame()
        #expect(ping.head == 0x89)
        #expect(ping.isMasked)
        try await peer.write([0x8A, 0x00, 0x8A, 0x02, 0x68, 0x69])
        try await peer.write(ScriptedFrame(head: 0x8A, payload: Array(repeating: 0xFF, count: 8)).bytes)
        try await peer.write(ScriptedFrame(head: 0x8A, payload: ping.payload).bytes)
        #expect(try await duration > .zero)
        // The same pong again answers nothing.
        try await peer.write(ScriptedFrame(head: 0x8A, payload: ping.payload).bytes)
        async let second = socket.ping()
        let next = try await peer.readFrame()
        #expect(next.payload != ping.payload)
        try await peer.write(ScriptedFrame(head: 0x8A, payload: next.payload).bytes)
        #expect(try await second > .zero)
        socket.abort()
    }

    @Test("A pong answers the pings before its own as well (RFC 6455 §5.5.3)")
    func overtaken() async throws {
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url)
        let peer = try await server.acceptUpgraded()
        let socket = try await connecting
        async let first = socket.ping()
        _ = try await peer.readFrame()
        async let second = socket.ping()
        let last = try await peer.readFrame()
        try await peer.write(ScriptedFrame(head: 0x8A, payload: last.payload).bytes)
        #expect(try await first > .zero)
        #expect(try await second > .zero)
        socket.abort()
    }

    @Test("A ping that is cancelled leaves the connection as it is")
    func cancelled() async throws {
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url)
        let peer = try await server.acceptUpgraded()
        let socket = try await connecting
        let pinging = Task { try await socket.ping() }
        let ping = try await peer.readFrame()
        pinging.cancel()
        await #expect(throws: CancellationError.self) { try await pinging.value }
        try await peer.write(ScriptedFrame(head: 0x8A, payload: ping.payload).bytes)
        try await socket.send("on")
        #expect(try await peer.readFrame() == .text("on"))
        socket.abort()
    }

    @Test("Pings of the peer are answered with their payload, up to 125 bytes")
    func answered() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder)
        let peer = try await server.acceptUpgraded()
        for payload in [[], [1, 2, 3], [UInt8](repeating: 9, count: 125)] as [[UInt8]] {
            try await peer.write(ScriptedFrame(head: 0x89, payload: payload).bytes)
            #expect(try await peer.readFrame() == ScriptedFrame(head: 0x8A, payload: payload))
        }
        link.abort()
    }

    @Test("Keepalive gives up a peer that is silent")
    func deadPeer() async throws {
        var options = WebSocketOptions()
        options.keepalive = .init(interval: .milliseconds(100), timeout: .milliseconds(200))
        let server = try ScriptedServer()
        let recorder = Recorder()
        _ = connect(server, recorder, options)
        let peer = try await server.acceptUpgraded()
        #expect(try await peer.readFrame().head == 0x89)
        let end = await recorder.end()
        #expect(end?.error?.kind == .timeout)
        #expect(end?.error?.message.contains("keepalive.timeout") == true)
        #expect(end?.closeInfo.code == .abnormalClosure)
        #expect(recorder.entries == [.opened, .ended])
        #expect(await peer.readToEnd() == [])
    }

    @Test("Keepalive takes anything that arrives for life, not pongs alone")
    func dataIsLife() async throws {
        var options = WebSocketOptions()
        options.keepalive = .init(interval: .milliseconds(50), timeout: .seconds(60))
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder, options)
        let peer = try await server.acceptUpgraded()
        #expect(try await peer.readFrame().head == 0x89)
        #expect(await !link.driver.hasHeard)
        try await peer.write(ScriptedFrame.text("alive").bytes)
        await recorder.wait(for: .text("alive"))
        #expect(await link.driver.hasHeard)
        link.abort()
    }

    @Test("A ping asked for while the connection ends, or after, is answered with why not")
    func atTheEnd() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder)
        let peer = try await server.acceptUpgraded()
        await recorder.wait(for: .opened)
        async let first = kind(ofPingOn: link)
        #expect(try await peer.readFrame().head == 0x89)
        await peer.finish()
        #expect(await first == .transport)
        _ = await recorder.end()
        #expect(await kind(ofPingOn: link) == .closed)
    }

    /// The kind of error that a ping ends with, and with it one that its completion asks for.
    private func kind(ofPingOn link: WebSocketHandle) async -> WebSocketError.Kind? {
        await withCheckedContinuation { (continuation: CheckedContinuation<WebSocketError.Kind?, Never>) in
            link.ping { result in
                link.ping { second in
                    #expect(throws: WebSocketError.self) { try second.get() }
                    if case .failure(let error) = result {
                        continuation.resume(returning: error.kind)
                    } else {
                        continuation.resume(returning: nil)
                    }
                }
            }
        }
    }
}
