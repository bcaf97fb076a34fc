import Testing
import WebSocketClient

@Suite("Frames and text", .timeLimit(.minutes(2)))
struct FramingTests {
    /// What a client makes of the bytes that a server sends behind its answer, and the frames it sends itself.
    static func outcome(
        options: WebSocketOptions = WebSocketOptions(), fields: [String] = [], count: Int? = nil,
        _ bytes: [UInt8]
    ) async throws -> (entries: [Recorder.Entry], end: WebSocketEnd?, frame: ScriptedFrame?) {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder, options)
        let peer = try await server.accept()
        try await peer.write(try await peer.readHead().upgrade(fields) + bytes)
        guard let count else {
            let frame = try await peer.readFrame()
            await peer.close()
            let end = await recorder.end()
            return (recorder.entries, end, frame)
        }
        await recorder.wait { $0.count >= count + 1 }
        link.abort()
        let end = await recorder.end()
        return (recorder.entries, end, nil)
    }

    /// Expects that nothing is delivered, the peer is told `code`, and the error names the section.
    static func expectFailure(
        options: WebSocketOptions = WebSocketOptions(), fields: [String] = [], _ code: UInt16,
        _ section: String,
        _ bytes: [UInt8], delivered: [Recorder.Entry] = [], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let (entries, end, frame) = try await outcome(options: options, fields: fields, bytes)
        #expect(entries == [.opened] + delivered + [.ended], sourceLocation: sourceLocation)
        #expect(frame?.closeCode == code, sourceLocation: sourceLocation)
        #expect(frame?.isMasked == true, sourceLocation: sourceLocation)
        #expect(end?.error?.kind == .violation, sourceLocation: sourceLocation)
        #expect(end?.error?.violation?.section == section, sourceLocation: sourceLocation)
        #expect(end?.error?.violation?.closeCode.rawValue == code, sourceLocation: sourceLocation)
        #expect(end?.closeInfo.code == .abnormalClosure, sourceLocation: sourceLocation)
        #expect(end?.closeInfo.sent?.code?.rawValue == code, sourceLocation: sourceLocation)
        #expect(end?.closeInfo.initiator == .local, sourceLocation: sourceLocation)
        #expect(end?.wasOpen == true, sourceLocation: sourceLocation)
    }

    @Test("B1: lengths beyond any memory fail the connection and nothing else")
    func lengths() async throws {
        try await Self.expectFailure(1002, "RFC 6455 §5.2", [0x82, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 0])
        try await Self.expectFailure(1002, "RFC 6455 §5.2", [0x82, 0x7F] + Array(repeating: 0xFF, count: 8))
        let (entries, end, frame) = try await Self.outcome(
            [0x82, 0x7F, 0x7F] + Array(repeating: 0xFF, count: 7))
        #expect(entries == [.opened, .ended])
        #expect(frame?.closeCode == 1009)
        #expect(end?.error?.violation?.closeCode == .messageTooBig)
    }

    @Test(
        "Frames no server may send fail the connection",
        arguments: [
            [0x91, 0x00], [0xA1, 0x00], [0xC1, 0x00], [0x83, 0x00], [0x8B, 0x00], [0x80, 0x00], [0x09, 0x00],
            [0x89, 0x7E, 0x00, 0x7E], [0x81, 0x80, 1, 2, 3, 4], [0x82, 0x7E, 0x00, 0x7D],
            [0x01, 0x01, 0x61, 0x81, 0x01, 0x61],
            [0x88, 0x01, 0x03], [0x88, 0x02, 0x03, 0xED], [0x88, 0x02, 0x13, 0x88],
        ] as [[UInt8]])
    func violations(bytes: [UInt8]) async throws {
        let (entries, end, frame) = try await Self.outcome(bytes)
        #expect(entries == [.opened, .ended])
        #expect(frame?.closeCode == 1002)
        #expect(end?.error?.kind == .violation)
        #expect(end?.error?.violation?.section.hasPrefix("RFC 6455 §") == true)
    }

    @Test("B2: control frames between fragments, and empty frames, leave the message whole")
    func controlBetween() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder)
        let peer = try await server.acceptUpgraded()
        try await peer.write([0x01, 0x03, 0x48, 0x65, 0x6C, 0x89, 0x02, 0x68, 0x69])
        // The pong comes while the message is not over.
        let pong = try await peer.readFrame()
        #expect(pong == ScriptedFrame(head: 0x8A, payload: Array("hi".utf8)))
        #expect(recorder.texts == [])
        try await peer.write([0x00, 0x00, 0x8A, 0x00, 0x80, 0x02, 0x6C, 0x6F, 0x81, 0x00])
        await recorder.wait(for: .text(""))
        #expect(recorder.texts == ["Hello", ""])
        link.abort()
    }

    @Test("B5: 200,000 tiny frames in one stream are 200,000 messages")
    func manyFrames() async throws {
        let server = try ScriptedServer()
        let recorder = Recorder(keeps: false)
        _ = connect(server, recorder)
        let peer = try await server.acceptUpgraded()
        var bytes: [UInt8] = []
        for _ in 0..<200_000 { bytes += [0x81, 0x01, 0x61] }
        try await peer.write(bytes + ScriptedFrame.close(1000).bytes)
        _ = try await peer.readFrame()
        await peer.close()
        let end = await recorder.end()
        #expect(end?.closeInfo.code == .normalClosure)
        #expect(recorder.messageCount == 200_000)
    }

    @Test("C1: characters may be cut between fragments")
    func cutCharacters() async throws {
        for (bytes, text) in [
            ([0x01, 0x02, 0xE2, 0x82, 0x80, 0x01, 0xAC], "€"),
            ([0x01, 0x01, 0xF0, 0x00, 0x01, 0x9F, 0x00, 0x01, 0x98, 0x80, 0x01, 0x80], "😀"),
            ([0x81, 0x01, 0x00], "\0"),
        ] as [([UInt8], String)] {
            let (entries, _, _) = try await Self.outcome(count: 1, bytes)
            #expect(entries == [.opened, .text(text), .ended])
        }
    }

    @Test(
        "C1: what is no UTF-8 fails the connection with 1007",
        arguments: [
            [0x01, 0x01, 0xC3, 0x80, 0x01, 0x28], [0x81, 0x02, 0xE2, 0x82], [0x81, 0x03, 0xED, 0xA0, 0x80],
            [0x81, 0x02, 0xC0, 0x80], [0x81, 0x04, 0xF4, 0x90, 0x80, 0x80], [0x81, 0x01, 0xFF],
        ] as [[UInt8]])
    func notUTF8(bytes: [UInt8]) async throws {
        try await Self.expectFailure(1007, "RFC 6455 §8.1", bytes)
    }

    @Test("What precedes a violation is delivered, what follows it is not")
    func aroundViolation() async throws {
        try await Self.expectFailure(
            1002, "RFC 6455 §5.2", [0x81, 0x01, 0x61, 0x83, 0x00, 0x81, 0x01, 0x62], delivered: [.text("a")])
    }

    @Test("A message above maxMessageBytes fails the connection with 1009, before its bytes have come")
    func limits() async throws {
        var options = WebSocketOptions()
        options.limits.maxMessageBytes = 1000
        try await Self.expectFailure(
            options: options, 1009, "RFC 6455 §10.4", [0x82, 0x7E, 0x03, 0xE9])
        try await Self.expectFailure(
            options: options, 1009, "RFC 6455 §10.4",
            ScriptedFrame(head: 0x02, payload: Array(repeating: 0, count: 900)).bytes + [0x80, 0x65])
        let (entries, _, _) = try await Self.outcome(
            options: options, count: 1,
            ScriptedFrame(head: 0x02, payload: Array(repeating: 0, count: 900)).bytes + [0x80, 0x64]
                + Array(repeating: 0, count: 100))
        #expect(entries == [.opened, .binary(Array(repeating: 0, count: 1000)), .ended])
    }
}
