import Synchronization
import Testing
import WebSocketClient

@Suite("The callback face", .timeLimit(.minutes(2)))
struct HandleTests {
    @Test("Sending inside handlers takes effect at once, in order")
    func sendInside() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder { entry, link in
            switch entry {
            case .opened:
                #expect(link.send("1") == .queued)
                #expect(link.send(.text, Array("2".utf8)) == .queued)
                #expect(link.send(.text, Array("3".utf8).span.bytes) == .queued)
                #expect(link.send(.text, [0xFF]) == .invalid)
            case .text(let text): #expect(link.send("echo \(text)") == .queued)
            default: break
            }
        }
        let link = connect(server, recorder)
        let peer = try await server.accept()
        let request = try await peer.readHead()
        try await peer.write(
            request.upgrade() + ScriptedFrame.text("a").bytes + ScriptedFrame.text("b").bytes)
        for text in ["1", "2", "3", "echo a", "echo b"] { #expect(try await peer.readFrame() == .text(text)) }
        link.abort()
    }

    /// Where in a connection's life a handler does something.
    enum Place: CaseIterable, Sendable {
        case opened, firstMessage, assembledMessage

        func matches(_ entry: Recorder.Entry) -> Bool {
            switch self {
            case .opened: entry == .opened
            case .firstMessage: entry == .text("first")
            case .assembledMessage: entry == .text("whole")
            }
        }
    }

    private static let script =
        ScriptedFrame.text("first").bytes + [0x01, 0x02] + Array("wh".utf8) + [0x80, 0x03] + Array("ole".utf8)
        + ScriptedFrame.text("third").bytes

    @Test(
        "Closing inside any callback is a closing handshake, and nothing is delivered behind it",
        arguments: Place.allCases)
    func closeInside(place: Place) async throws {
        let server = try ScriptedServer()
        let recorder = Recorder { entry, link in
            if place.matches(entry) {
                link.close(.goingAway)
                #expect(link.send("late") == .closed)
            }
        }
        _ = connect(server, recorder)
        let peer = try await server.accept()
        try await peer.write(try await peer.readHead().upgrade() + Self.script)
        #expect(try await peer.readFrame() == .close(1001))
        try await peer.write(ScriptedFrame.close(1001).bytes)
        await peer.finish()
        let end = await recorder.end()
        #expect(end?.error == nil)
        #expect(end?.closeInfo.initiator == .local)
        #expect(place.matches(recorder.entries.dropLast().last ?? .ended))
        #expect(recorder.entries.filter { $0 == .ended }.count == 1)
    }

    @Test("Aborting inside any callback ends the connection there and then, once", arguments: Place.allCases)
    func abortInside(place: Place) async throws {
        let server = try ScriptedServer()
        let recorder = Recorder { entry, link in
            if place.matches(entry) {
                link.abort()
                link.abort()
                link.close()
                link.pauseReading()
                link.resumeReading()
                #expect(link.send("late") == .closed)
            }
        }
        _ = connect(server, recorder)
        let peer = try await server.accept()
        try await peer.write(try await peer.readHead().upgrade() + Self.script)
        let end = await recorder.end()
        #expect(end?.error?.kind == .cancelled)
        #expect(end?.wasOpen == true)
        await rounds(5)
        #expect(recorder.entries.filter { $0 == .ended }.count == 1)
        #expect(await peer.readToEnd() == [])
    }

    /// Uses its handle while it is told of the end.
    private final class LastWords: WebSocketHandler {
        let link = Mutex<WebSocketHandle?>(nil)
        let results = Mutex<[WebSocketHandle.SendResult]>([])
        let ends = AsyncStream.makeStream(of: WebSocketEnd.self)

        func opened(_ agreement: WebSocketAgreement, _ link: WebSocketHandle) {
            self.link.withLock { $0 = link }
        }
        func received(_ kind: MessageKind, _ bytes: RawSpan, _ link: WebSocketHandle) {}
        func ended(_ end: WebSocketEnd) {
            if let link = link.withLock({ $0.take() }) {
                let result = link.send("late")
                results.withLock { $0.append(result) }
                link.close()
                link.pauseReading()
                link.resumeReading()
                link.ping { _ in }
                link.abort()
            }
            ends.continuation.yield(end)
        }
    }

    @Test(
        "A handle used inside ended says closed, and the end is told once",
        arguments: [
            [0x88, 0x00], [0x83, 0x00], [],
        ] as [[UInt8]])
    func inEnded(bytes: [UInt8]) async throws {
        let server = try ScriptedServer()
        let handler = LastWords()
        _ = WebSocketHandle.connect(to: server.url, handler: handler)
        let peer = try await server.acceptUpgraded()
        try await peer.write(bytes)
        await peer.finish()
        var ends = handler.ends.stream.makeAsyncIterator()
        let end = await ends.next()
        #expect(end?.wasOpen == true)
        await rounds(5)
        handler.ends.continuation.finish()
        #expect(await ends.next() == nil)
        #expect(handler.results.withLock { $0 } == [.closed])
        // A closing handshake is complete before the end is told; the abort of a failed one may drop the close frame.
        let sent = await peer.readToEnd()
        if bytes.first == 0x88 { #expect(sent.first == 0x88) }
    }

    @Test("Closing or aborting while connecting gives up", arguments: [true, false])
    func giveUp(aborts: Bool) async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder)
        let peer = try await server.accept()
        _ = try await peer.readHead()
        if aborts { link.abort() } else { link.close() }
        let end = await recorder.end()
        #expect(end?.error?.kind == .cancelled)
        #expect(end?.wasOpen == false)
        #expect(end?.closeInfo == CloseInfo())
        #expect(recorder.entries == [.ended])
        #expect(await peer.readToEnd() == [])
    }

    @Test("Closing before anything has begun gives up without a connection")
    func giveUpAtOnce() async throws {
        let server = try ScriptedServer()
        for _ in 0..<20 {
            let recorder = Recorder()
            let link = connect(server, recorder)
            link.abort()
            link.close()
            #expect(await recorder.end()?.error?.kind == .cancelled)
            #expect(recorder.entries == [.ended])
        }
    }

    @Test("A handle used before and after the connection says closed")
    func outside() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder)
        #expect(link.send("early") == .closed)
        let peer = try await server.acceptUpgraded()
        await recorder.wait(for: .opened)
        await peer.finish()
        _ = await recorder.end()
        #expect(link.send("late") == .closed)
        #expect(link.send(.binary, [1]) == .closed)
        link.close()
        link.abort()
        link.pauseReading()
        link.resumeReading()
        let kind = await withCheckedContinuation {
            (continuation: CheckedContinuation<WebSocketError.Kind?, Never>) in
            link.ping { result in
                if case .failure(let error) = result {
                    continuation.resume(returning: error.kind)
                } else {
                    continuation.resume(returning: nil)
                }
            }
        }
        #expect(kind == .closed)
        #expect(recorder.entries == [.opened, .ended])
    }

    @Test("Sends of many threads keep each thread's order")
    func threads() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder)
        let peer = try await server.acceptUpgraded()
        await recorder.wait(for: .opened)
        let perTask = 500
        async let sending: Void = withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var number = 0
                    while number < perTask {
                        switch link.send("\(task) \(number)") {
                        case .queued: number += 1
                        case .congested: await Task.yield()
                        default:
                            Issue.record("the connection has ended")
                            return
                        }
                    }
                }
            }
        }
        var next = [Int](repeating: 0, count: 8)
        for _ in 0..<(8 * perTask) {
            let words = String(decoding: try await peer.readFrame().payload, as: UTF8.self).split(
                separator: " ")
            let task = try #require(Int(words[0]))
            #expect(Int(words[1]) == next[task])
            next[task] += 1
        }
        await sending
        link.abort()
    }

    @Test("Letting go of the handle leaves the connection to its handler")
    func droppedHandle() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        _ = connect(server, recorder)
        let peer = try await server.acceptUpgraded()
        try await peer.write(ScriptedFrame.text("still here").bytes)
        await recorder.wait(for: .text("still here"))
        await peer.finish()
        #expect(await recorder.end()?.error?.kind == .transport)
    }

    @Test("A handler is let go of after the end")
    func released() async throws {
        let server = try ScriptedServer()
        weak var weakly: Recorder?
        let link: WebSocketHandle
        do {
            let recorder = Recorder()
            weakly = recorder
            link = connect(server, recorder)
            let peer = try await server.acceptUpgraded()
            await recorder.wait(for: .opened)
            await peer.finish()
            _ = await recorder.end()
        }
        await rounds(5)
        #expect(weakly == nil)
        link.abort()
    }

    @Test("A burst of messages is over when it says so")
    func bursts() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder(keeps: false)
        let link = connect(server, recorder)
        let peer = try await server.acceptUpgraded()
        try await peer.write((0..<100).flatMap { ScriptedFrame.text("\($0)").bytes })
        while recorder.messageCount < 100 { await rounds(1) }
        await rounds(1)
        #expect(recorder.pauseCount > 0)
        link.abort()
    }
}
