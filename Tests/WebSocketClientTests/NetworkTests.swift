import SystemIO
import SystemTLS
import Testing
@testable import WebSocketClient

@Suite("Network faults", .timeLimit(.minutes(3)))
struct NetworkTests {
    static let neverResolves = Resolver { (host, _) async throws(ResolveError) -> [SocketAddress] in
        do {
            try await Task.sleep(for: .seconds(3600))
        } catch {}
        throw .cancelled(host: host)
    }

    // MARK: G3, one deadline over every phase

    /// Lets the one deadline pass once `peer`, or the lookup, has the client where it is to be.
    private static func timeOut(_ handle: WebSocketHandle, _ recorder: Recorder) async -> WebSocketError? {
        await handle.driver.connectTimedOut()
        let end = await recorder.end()
        #expect(end?.wasOpen == false)
        #expect(end?.error?.kind == .timeout)
        #expect(end?.error?.message.contains("connectTimeout") == true)
        return end?.error
    }

    @Test("G3: a lookup that never answers ends with connectTimeout, which names the phase")
    func resolverStalls() async throws {
        var options = WebSocketOptions()
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        options.resolver = Resolver { (host, port) async throws(ResolveError) -> [SocketAddress] in
            ask.yield()
            return try await Self.neverResolves.resolve(host, port)
        }
        let recorder = Recorder()
        let handle = WebSocketHandle.connect(to: "ws://slow.test/", options: options, handler: recorder)
        for await _ in asked { break }
        #expect(await Self.timeOut(handle, recorder)?.phase == .resolving)
    }

    @Test(
        "G3: an upgrade that is never answered, or only begun, ends with connectTimeout",
        arguments: ["", "HTTP/1.1 10"])
    func upgradeStalls(answer: String) async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let handle = connect(server, recorder)
        let peer = try await server.accept()
        _ = try await peer.readHead()
        try await peer.write(answer)
        #expect(await Self.timeOut(handle, recorder)?.phase == .upgrading)
        _ = await peer.readToEnd()
    }

    @Test("G3: a TLS handshake that is never answered ends with connectTimeout")
    func handshakeStalls() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let handle = WebSocketHandle.connect(to: "wss://127.0.0.1:\(server.port)/", handler: recorder)
        let peer = try await server.acceptTCP()
        // TLS's first flight.
        _ = try await peer.read(count: 1)
        #expect(await Self.timeOut(handle, recorder)?.phase == .securing)
        _ = await peer.readToEnd()
    }

    @Test("G3: an address that swallows everything ends with connectTimeout")
    func connectingStalls() async throws {
        let hole = try await BlackHole()
        let recorder = Recorder()
        let handle = WebSocketHandle.connect(to: "ws://\(hole.address)/", handler: recorder)
        while await handle.driver.dialPhase != .connecting { await rounds(1) }
        #expect(await Self.timeOut(handle, recorder)?.phase == .connecting)
    }

    @Test("the deadline is real: it passes by itself")
    func deadlinePasses() async throws {
        var options = WebSocketOptions()
        options.connectTimeout = .milliseconds(50)
        options.resolver = Self.neverResolves
        let error = await webSocketError { [options] in
            _ = try await WebSocket.connect(to: "ws://slow.test/", options: options)
        }
        #expect(error?.kind == .timeout && error?.phase == .resolving)
    }

    @Test("G3: cancelling the task ends connecting in each phase, and the server sees the socket go")
    func cancelled() async throws {
        var options = WebSocketOptions()
        options.resolver = Self.neverResolves
        let resolving = Task { [options] in
            try await WebSocket.connect(to: "ws://slow.test/", options: options)
        }
        await rounds(3)
        resolving.cancel()
        await #expect(throws: CancellationError.self) { _ = try await resolving.value }

        for scheme in ["ws", "wss"] {
            let server = try ScriptedServer()
            let connecting = Task { try await WebSocket.connect(to: "\(scheme)://127.0.0.1:\(server.port)/") }
            let peer = try await server.acceptTCP()
            // The request, or TLS's first flight: the client waits for an answer now.
            _ = try await peer.read(count: 1)
            connecting.cancel()
            await #expect(throws: CancellationError.self) { _ = try await connecting.value }
            _ = await peer.readToEnd()
        }
    }

    @Test("a handle that is closed while it connects ends as cancelled, never open")
    func handleClosed() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let handle = connect(server, recorder)
        let peer = try await server.acceptTCP()
        handle.close()
        let end = await recorder.end()
        #expect(end?.wasOpen == false && end?.error?.kind == .cancelled)
        _ = await peer.readToEnd()
    }

    @Test(
        "G3: abort ends connecting in each phase at once, and the server sees the socket go",
        arguments: Stall.allCases)
    func aborted(_ stall: Stall) async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        var options = WebSocketOptions()
        if stall == .resolving { options.resolver = Self.neverResolves }
        var url = "\(stall == .securing ? "wss" : "ws")://127.0.0.1:\(server.port)/"
        let hole = try await BlackHole()
        if stall == .connecting { url = "ws://\(hole.address)/" }
        let handle = WebSocketHandle.connect(to: url, options: options, handler: recorder)
        var peer: ScriptedConnection?
        switch stall {
        case .resolving, .connecting:
            let phase = stall == .resolving ? WebSocketError.Phase.resolving : .connecting
            while await handle.driver.dialPhase != phase { await rounds(1) }
        case .securing, .upgrading, .answering:
            let accepted = try await server.acceptTCP()
            // The request, or TLS's first flight: the client waits for an answer now.
            _ = try await accepted.read(count: 1)
            if stall == .answering { try await accepted.write("HTTP/1.1 10") }
            peer = accepted
        }
        handle.abort()
        let end = await recorder.end()
        #expect(end?.wasOpen == false && end?.error?.kind == .cancelled)
        _ = await peer?.readToEnd()
        #expect(await handle.driver.dialPhase == nil)
    }

    enum Stall: CaseIterable { case resolving, connecting, securing, upgrading, answering }

    // MARK: G1 and failures before the socket

    @Test("G1: an address that nobody listens on does not keep the next from being reached")
    func secondAddress() async throws {
        let dead = try ScriptedServer().port
        let server = try ScriptedServer()
        var options = WebSocketOptions()
        options.resolver = Resolver { (_, _) async throws(ResolveError) -> [SocketAddress] in
            [.loopback6(port: dead), .loopback(port: server.port)]
        }
        async let connecting = WebSocket.connect(to: "ws://two.test/", options: options)
        let peer = try await server.acceptUpgraded()
        let socket = try await connecting
        async let closing: Void = socket.close()
        #expect(try await peer.readFrame() == .close(1000))
        try await peer.write(ScriptedFrame.close(1000).bytes)
        await peer.close()
        await closing
    }

    @Test(
        "G1: an address that swallows everything does not keep the next from being reached, and keeps no socket"
    )
    func blackHole() async throws {
        await #expect(processExitsWith: .success) {
            let hole = try await BlackHole()
            let server = try ScriptedServer()
            var options = WebSocketOptions()
            let addresses = [hole.address, .loopback(port: server.port)]
            options.resolver = Resolver { (_, _) async throws(ResolveError) -> [SocketAddress] in addresses }
            let before = ProcessCount.sockets
            async let connecting = WebSocket.connect(to: "ws://two.test/", options: options)
            let peer = try await server.acceptUpgraded()
            let socket = try await connecting
            // Both ends of one connection, the server's under two numbers.
            for _ in 0..<20_000 where ProcessCount.sockets > before + 3 { await rounds(1) }
            precondition(ProcessCount.sockets == before + 3)
            socket.abort()
            _ = await peer.readToEnd()
        }
    }

    @Test("a refused port is a transport error that names the address")
    func refused() async throws {
        let port = try ScriptedServer().port
        let error = await webSocketError { _ = try await WebSocket.connect(to: "ws://127.0.0.1:\(port)/") }
        #expect(error?.kind == .transport && error?.phase == .connecting)
        #expect(error?.message.contains("127.0.0.1:\(port)") == true)
        #expect(error?.systemError?.reason == "Connection refused")
    }

    @Test("a name that does not resolve is a transport error that names the host")
    func unknownHost() async throws {
        var options = WebSocketOptions()
        options.resolver = Resolver { (host, _) async throws(ResolveError) -> [SocketAddress] in
            throw .failed(host: host, reason: "Name or service not known", isTemporary: false)
        }
        let error = await webSocketError { [options] in
            _ = try await WebSocket.connect(to: "ws://nowhere.test/", options: options)
        }
        #expect(error?.kind == .transport && error?.phase == .resolving)
        #expect(error?.message.contains("nowhere.test") == true)
    }
}
