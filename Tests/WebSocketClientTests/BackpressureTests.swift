import Synchronization
import Testing
@testable import WebSocketClient

@Suite("Backpressure", .timeLimit(.minutes(2)))
struct BackpressureTests {
    /// Writes messages until the peer has taken nothing during many rounds of the loop; how many bytes it took.
    private func fill(_ peer: ScriptedConnection, _ message: [UInt8], atMost limit: Int) async throws -> Int {
        var total = 0
        var idleRounds = 0
        while idleRounds < 200, total < limit {
            let rest = Array(message[(total % message.count)...])
            let count = try await peer.writeNow(rest)
            total += count
            idleRounds = count == 0 ? idleRounds + 1 : 0
            if count == 0 { await rounds(1) }
        }
        return total
    }

    @Test("Who does not iterate does not read: the peer's writes stop, and go on with the iteration")
    func unread() async throws {
        var options = WebSocketOptions()
        options.readHighWater = 64 << 10
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url, options: options)
        let peer = try await server.acceptUpgraded(smallBuffers: true)
        let socket = try await connecting
        let message = ScriptedFrame(head: 0x82, payload: Array(repeating: 9, count: 1000)).bytes
        let limit = 256 << 20
        let taken = try await fill(peer, message, atMost: limit)
        #expect(taken < limit)
        async let finishing: Void = {
            // Completes the message that was cut, and says where the stream ends.
            try await peer.write(Array(message[(taken % message.count)...]) + ScriptedFrame.text("end").bytes)
        }()
        var count = 0
        for try await received in socket.messages {
            if received == .text("end") { break }
            #expect(received == .binary(Array(repeating: 9, count: 1000)))
            count += 1
        }
        try await finishing
        #expect(count == taken / message.count + 1)
        socket.abort()
    }

    @Test("A paused handler is told nothing more until it resumes, and misses nothing")
    func pausedHandler() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder { entry, link in
            if case .text = entry { link.pauseReading() }
        }
        let link = connect(server, recorder)
        let peer = try await server.acceptUpgraded()
        let texts = (0..<50).map { "\($0)" }
        try await peer.write(texts.flatMap { ScriptedFrame.text($0).bytes } + ScriptedFrame.close(1000).bytes)
        for count in 1...50 {
            await recorder.wait { $0.count > count }
            await rounds(5)
            #expect(recorder.texts == Array(texts[..<count]))
            link.resumeReading()
        }
        #expect(try await peer.readFrame() == .close(1000))
        await peer.close()
        #expect(await recorder.end()?.error == nil)
    }

    @Test("Pausing and resuming within one callback changes nothing")
    func pauseAndResume() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder { entry, link in
            link.pauseReading()
            link.resumeReading()
            link.pauseReading()
            link.resumeReading()
        }
        let link = connect(server, recorder)
        let peer = try await server.accept()
        let request = try await peer.readHead()
        let texts = (0..<50).map { "\($0)" }
        try await peer.write(request.upgrade() + texts.flatMap { ScriptedFrame.text($0).bytes })
        await recorder.wait(for: .text("49"))
        #expect(recorder.texts == texts)
        link.abort()
    }

    @Test("Resuming another connection inside a handler leaves the bytes of both alone")
    func resumesOther() async throws {
        let server = try ScriptedServer()
        let paused = Recorder()
        let pausedLink = connect(server, paused)
        let pausedPeer = try await server.acceptUpgraded()
        await paused.wait(for: .opened)
        pausedLink.pauseReading()
        await rounds(1)
        let others = (0..<500).map { "other \($0)" }
        try await pausedPeer.write(others.flatMap { ScriptedFrame.text($0).bytes })
        let recorder = Recorder { entry, _ in
            if entry == .text("first") { pausedLink.resumeReading() }
        }
        let link = connect(server, recorder)
        let peer = try await server.acceptUpgraded()
        let texts = ["first"] + (0..<500).map { "mine \($0)" }
        try await peer.write(texts.flatMap { ScriptedFrame.text($0).bytes })
        await recorder.wait(for: .text("mine 499"))
        await paused.wait(for: .text("other 499"))
        #expect(recorder.texts == texts)
        #expect(paused.texts == others)
        link.abort()
        pausedLink.abort()
    }

    private func smallMarks() -> WebSocketOptions {
        var options = WebSocketOptions()
        options.writeHighWater = 64 << 10
        options.writeLowWater = 16 << 10
        return options
    }

    @Test("Sending waits above the high-water mark and goes on when the peer reads")
    func sendWaits() async throws {
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url, options: smallMarks())
        let peer = try await server.acceptUpgraded(smallBuffers: true)
        let socket = try await connecting
        let sent = Mutex(0)
        let total = 400
        async let sending: Void = {
            for number in 0..<total {
                try await socket.send(Array(repeating: UInt8(number % 251), count: 32 << 10))
                sent.withLock { $0 += 1 }
            }
        }()
        while await !socket.handle.driver.isCongested { await rounds(1) }
        await rounds(50)
        #expect(sent.withLock { $0 } < total)
        for number in 0..<total {
            let frame = try await peer.readFrame()
            #expect(
                frame
                    == ScriptedFrame(
                        head: 0x82, payload: Array(repeating: UInt8(number % 251), count: 32 << 10)))
        }
        try await sending
        socket.abort()
    }

    @Test("A send that waits can be cancelled; nothing of it is sent, and the connection stays")
    func cancelledSend() async throws {
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url, options: smallMarks())
        let peer = try await server.acceptUpgraded(smallBuffers: true)
        let socket = try await connecting
        var count = 0
        while await !socket.handle.driver.isCongested {
            try await socket.send([UInt8](repeating: 1, count: 32 << 10))
            count += 1
        }
        let waiting = Task { try await socket.send("never sent") }
        while await !socket.handle.driver.hasWaiters { await rounds(1) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let cancelledBefore = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await socket.send("never sent either")
        }
        await #expect(throws: CancellationError.self) { try await cancelledBefore.value }
        async let sending: Void = socket.send("sent")
        for _ in 0..<count { #expect(try await peer.readFrame().head == 0x82) }
        #expect(try await peer.readFrame() == .text("sent"))
        try await sending
        socket.abort()
    }

    @Test("A handle says congested above the mark, and writable once the peer has read")
    func congestedHandle() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder, smallMarks())
        let peer = try await server.acceptUpgraded(smallBuffers: true)
        await recorder.wait(for: .opened)
        var count = 0
        // Congestion that lasts: the kernel's buffers are full, not only the queue to the loop.
        while true {
            switch link.send(.binary, [UInt8](repeating: 1, count: 32 << 10)) {
            case .queued: count += 1
            default: await rounds(1)
            }
            if await link.driver.isCongested { break }
        }
        await rounds(20)
        #expect(link.send("no") == .congested)
        let before = recorder.entries.count
        for _ in 0..<count { #expect(try await peer.readFrame().payload.count == 32 << 10) }
        await recorder.wait { $0.count > before && $0.last == .writable }
        #expect(link.send("yes") == .queued)
        #expect(try await peer.readFrame() == .text("yes"))
        link.abort()
    }

    @Test("Who was told congested hears writable, also when the loop writes everything at once")
    func promised() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        var options = WebSocketOptions()
        options.writeHighWater = 1000
        options.writeLowWater = 100
        let link = connect(server, recorder, options)
        let peer = try await server.acceptUpgraded()
        await recorder.wait(for: .opened)
        for number in 1...20 {
            let before = recorder.entries.count
            // The loop may be faster than this thread now and then.
            var count = 0
            while link.send(.binary, [UInt8](repeating: 1, count: 2000)) == .queued { count += 1 }
            async let reading: Void = {
                for _ in 0..<count { _ = try await peer.readFrame() }
            }()
            await recorder.wait { $0[before...].contains(.writable) }
            try await reading
            #expect(recorder.entries.contains(.writable), "round \(number)")
        }
        link.abort()
    }

    @Test("A handler that sends whenever it is writable does not recurse")
    func eagerWriter() async throws {
        let server = try ScriptedServer()
        var options = WebSocketOptions()
        options.writeHighWater = 0
        let sent = Mutex(0)
        let depth = Mutex((now: 0, most: 0))
        let recorder = Recorder(keeps: false) { entry, link in
            guard entry == .writable || entry == .opened else { return }
            depth.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            while sent.withLock({ $0 }) < 20_000, link.send("0123456789") == .queued {
                sent.withLock { $0 += 1 }
            }
            depth.withLock { $0.now -= 1 }
        }
        let link = connect(server, recorder, options)
        let peer = try await server.acceptUpgraded(smallBuffers: true)
        for _ in 0..<20_000 { #expect(try await peer.readFrame() == .text("0123456789")) }
        #expect(depth.withLock { $0.most } <= 2)
        link.abort()
    }
}
