import Testing
import WebSocketClient
import WebSocketCore
import WebSocketDeflate

@Suite("permessage-deflate", .timeLimit(.minutes(2)))
struct DeflateTests {
    private static var offering: WebSocketOptions {
        var options = WebSocketOptions()
        options.deflate = DeflateOptions()
        return options
    }

    private static let accepted = "Sec-WebSocket-Extensions: permessage-deflate"

    @Test("D1: messages inflate whatever blocks they end with, one after the other")
    func blocks() async throws {
        let bytes: [UInt8] =
            [0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00] + [
                0xC1, 0x05, 0xF2, 0x00, 0x11, 0x00, 0x00,
            ]
            + [0xC1, 0x08, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]
            + [0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00] + [0xC1, 0x01, 0x00, 0x81, 0x01, 0x61]
        let (entries, _, _) = try await FramingTests.outcome(
            options: Self.offering, fields: [Self.accepted], count: 6, bytes)
        #expect(
            entries == [
                .opened, .text("Hello"), .text("Hello"), .text("Hello"), .text("Hello"), .text(""),
                .text("a"), .ended,
            ])
    }

    @Test("D1: without context takeover the window of the last message is gone")
    func noContext() async throws {
        let bytes: [UInt8] =
            [0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00] + [
                0xC1, 0x05, 0xF2, 0x00, 0x11, 0x00, 0x00,
            ]
        let (entries, end, frame) = try await FramingTests.outcome(
            options: Self.offering, fields: [Self.accepted + "; server_no_context_takeover"], bytes)
        #expect(entries == [.opened, .text("Hello"), .ended])
        #expect(end?.error?.kind == .violation)
        #expect(frame?.head == 0x88)
    }

    @Test("Without the extension a compressed frame fails the connection")
    func notAgreed() async throws {
        for options in [WebSocketOptions(), Self.offering] {
            try await FramingTests.expectFailure(
                options: options, 1002, "RFC 6455 §5.2",
                [0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00])
        }
    }

    /// Whether the client accepts these parameters.
    private func accepts(_ parameters: String, bare: Bool) async throws -> Bool {
        var options = Self.offering
        options.deflate?.offersClientMaxWindowBits = !bare
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder, options)
        let peer = try await server.accept()
        let request = try await peer.readHead()
        #expect(
            request.values("Sec-WebSocket-Extensions") == [
                bare ? "permessage-deflate" : "permessage-deflate; client_max_window_bits"
            ])
        try await peer.write(request.upgrade(["\(Self.accepted)\(parameters)"]))
        await recorder.wait(for: .opened)
        link.abort()
        let end = await recorder.end()
        if end?.wasOpen == false { #expect(end?.error?.kind == .violation) }
        return end?.wasOpen == true
    }

    @Test(
        "D2: parameters that were not offered or mean nothing are refused",
        arguments: [
            "; client_max_window_bits=15", "; server_max_window_bits=20", "; server_max_window_bits=07",
            "; server_max_window_bits=7", "; server_max_window_bits",
            "; server_max_window_bits=9; server_max_window_bits=9",
            "; foo", "; foo=1", "; server_no_context_takeover=1", ", permessage-deflate", "; ",
        ])
    func refusedParameters(parameters: String) async throws {
        #expect(try await !accepts(parameters, bare: true))
    }

    @Test(
        "D2: parameters that bind the server, and an offered one, are accepted",
        arguments: [
            ("", true), ("; server_max_window_bits=9", true), ("; server_no_context_takeover", true),
            ("; client_no_context_takeover", true), ("; client_max_window_bits=8", false),
            ("; client_max_window_bits=15", false), ("; server_max_window_bits=\"10\"", true),
        ])
    func acceptedParameters(parameters: String, bare: Bool) async throws {
        #expect(try await accepts(parameters, bare: bare))
    }

    @Test(
        "D2: with a window of 256 bytes, what the client sends is read with such a window",
        arguments: [8, 9, 12])
    func smallWindow(bits: Int) async throws {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = connect(server, recorder, Self.offering)
        let peer = try await server.acceptUpgraded("\(Self.accepted); client_max_window_bits=\(bits)")
        await recorder.wait(for: .opened)
        var agreed = DeflateParameters()
        agreed.clientMaxWindowBits = bits
        let inflater = PerMessageDeflate(role: .server, agreed: agreed, options: DeflateOptions())
        // Repeats itself at a distance that a larger window would reach.
        var random = SplitMix(seed: 8)
        let unit = (0..<600).map { _ in UInt8.random(in: 0...255, using: &random) }
        for round in 1...3 {
            let message = (0..<round).flatMap { _ in unit }
            #expect(link.send(.binary, message) == .queued)
            let frame = try await peer.readFrame()
            if frame.head & 0x40 != 0 {
                var inflated = ByteBuffer()
                try frame.payload.withUnsafeBytes { bytes in
                    try inflater.decompress(bytes, isFinal: true, into: &inflated, limit: 1 << 20)
                }
                #expect(inflated.withUnsafeBytes { Array($0) } == message)
            } else {
                #expect(frame.payload == message)
            }
        }
        link.abort()
    }

    @Test("D3: the limit counts inflated bytes, in one frame and across fragments")
    func bomb() async throws {
        var options = Self.offering
        options.limits.maxMessageBytes = 1 << 20
        var bomb = ByteBuffer()
        let deflater = PerMessageDeflate(
            role: .server, agreed: DeflateParameters(), options: DeflateOptions())
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        for round in 0..<64 {
            try zeros.withUnsafeBytes { bytes in
                try deflater.compress(bytes, isFinal: round == 63, into: &bomb)
            }
        }
        let small = bomb.withUnsafeBytes { Array($0) }
        #expect(small.count < 1 << 20)
        try await FramingTests.expectFailure(
            options: options, fields: [Self.accepted], 1009, "RFC 6455 §10.4",
            ScriptedFrame(head: 0xC2, payload: small).bytes)
        var fragments: [UInt8] = []
        let size = small.count / 100 + 1
        for start in stride(from: 0, to: small.count, by: size) {
            let piece = Array(small[start..<min(start + size, small.count)])
            let isLast = start + size >= small.count
            fragments +=
                ScriptedFrame(head: (isLast ? 0x80 : 0) | (start == 0 ? 0x42 : 0), payload: piece).bytes
        }
        try await FramingTests.expectFailure(
            options: options, fields: [Self.accepted], 1009, "RFC 6455 §10.4", fragments)
    }
}
