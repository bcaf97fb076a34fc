import Testing
import WebSocketClient

@Suite("A refused upgrade", .timeLimit(.minutes(2)))
struct RefusalTests {
    /// The error after an answer, written in pieces; the server then ends its stream, or not.
    private func refusal(
        options: WebSocketOptions = WebSocketOptions(), ends: Bool = false, _ pieces: String...
    ) async throws -> WebSocketError? {
        let server = try ScriptedServer()
        async let connecting = webSocketError {
            _ = try await WebSocket.connect(to: server.url, options: options)
        }
        let peer = try await server.accept()
        _ = try await peer.readHead()
        for piece in pieces {
            try await peer.write(piece)
            await rounds(3)
        }
        if ends { await peer.finish() }
        let error = await connecting
        // Nothing of a WebSocket was sent to a server that is none.
        #expect(await peer.readToEnd() == [])
        return error
    }

    @Test(
        "A6: status, fields and Retry-After are there for the application",
        arguments: ["7", "-1", "abc", "99999999", "Tue, 01 Dec 2026 04:00:07 GMT"])
    func retryAfter(value: String) async throws {
        let error = try await refusal(
            "HTTP/1.1 429 Too Many Requests\r\nRetry-After: \(value)\r\nContent-Length: 4\r\n\r\nslow")
        #expect(error?.kind == .refused)
        #expect(error?.phase == .upgrading)
        #expect(error?.refusal?.status == 429)
        #expect(error?.refusal?.reason == "Too Many Requests")
        #expect(error?.refusal?.fields["retry-after"] == value)
        #expect(error?.message.contains("429") == true)
    }

    @Test("A6: 401 and 403 come with their bodies", arguments: [401, 403, 500, 200, 404])
    func bodies(status: Int) async throws {
        let error = try await refusal(
            "HTTP/1.1 \(status) No\r\nWWW-Authenticate: Bearer\r\nContent-Length: 12\r\n\r\nwrong ", "token.")
        #expect(error?.refusal?.status == status)
        #expect(error?.refusal?.body == Array("wrong token.".utf8))
        #expect(error?.refusal?.fields["WWW-Authenticate"] == "Bearer")
    }

    @Test("The body's length may be told by chunks")
    func chunks() async throws {
        let error = try await refusal(
            "HTTP/1.1 503 x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwait\r\n", "6;a=b\r\n a", " bit\r",
            "\n0\r\n\r\n")
        #expect(error?.refusal?.body == Array("wait a bit".utf8))
    }

    @Test("The body's length may be told by the connection's end, over HTTP/1.0 too")
    func untilEnd() async throws {
        let error = try await refusal(ends: true, "HTTP/1.0 403 Forbidden\r\nServer: old\r\n\r\ngo ", "away")
        #expect(error?.refusal?.status == 403)
        #expect(error?.refusal?.body == Array("go away".utf8))
    }

    @Test("What a body lacks at the connection's end is not missed")
    func cutBody() async throws {
        let error = try await refusal(
            ends: true, "HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\nonly this")
        #expect(error?.refusal?.body == Array("only this".utf8))
    }

    @Test("A body that never ends is a refusal once connectTimeout is over")
    func endlessBody() async throws {
        var options = WebSocketOptions()
        options.connectTimeout = .seconds(2)
        let error = try await refusal(options: options, "HTTP/1.1 429 x\r\nRetry-After: 7\r\n\r\nand then")
        #expect(error?.kind == .refused)
        #expect(error?.refusal?.fields["Retry-After"] == "7")
        #expect(error?.refusal?.body == Array("and then".utf8))
    }

    @Test("Of a long body the start is kept")
    func longBody() async throws {
        var options = WebSocketOptions()
        options.limits.maxRefusalBodyBytes = 10
        let error = try await refusal(
            options: options,
            "HTTP/1.1 403 x\r\nContent-Length: 1000\r\n\r\n" + String(repeating: "a", count: 1000))
        #expect(error?.refusal?.body == Array(repeating: UInt8(ascii: "a"), count: 10))
    }

    @Test("A8: a redirect is not followed; status and place are told", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) async throws {
        let other = try ScriptedServer()
        var options = WebSocketOptions()
        options.headers = ["Authorization": "Bearer secret"]
        let error = try await refusal(
            options: options,
            "HTTP/1.1 \(status) Moved\r\nLocation: \(other.url)\r\nContent-Length: 0\r\n\r\n")
        #expect(error?.kind == .refused)
        #expect(error?.refusal?.status == status)
        #expect(error?.refusal?.fields["Location"] == other.url)
        #expect(error?.message.contains(other.url) == true)
        #expect(try await !other.hasConnection())
    }

    @Test("A head without end, or without a blank line, is no answer")
    func endlessHead() async throws {
        var options = WebSocketOptions()
        options.limits.maxHeadBytes = 1000
        let long = try await refusal(
            options: options, "HTTP/1.1 101 x\r\nX-A: " + String(repeating: "a", count: 2000))
        #expect(long?.kind == .violation)
        let cut = try await refusal(ends: true, "HTTP/1.1 101 x\r\nUpgrade: webso")
        #expect(cut?.kind == .violation)
        #expect(cut?.message.contains("closed the connection") == true)
    }
}
