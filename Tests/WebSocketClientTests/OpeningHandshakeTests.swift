import Testing
import WebSocketClient

@Suite("The opening handshake", .timeLimit(.minutes(2)))
struct OpeningHandshakeTests {
    private static let event =
        ##"{"event":"bird:connection_established","data":"{\"connection_id\":\"1.1\"}"}"##

    /// Connects to a server that writes its answer and two messages in the given pieces.
    private func connect(cutting: @Sendable ([UInt8]) -> [ArraySlice<UInt8>]) async throws -> [Recorder.Entry]
    {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = WebSocketClientTests.connect(server, recorder)
        let peer = try await server.accept()
        let request = try await peer.readHead()
        let all =
            request.upgrade() + ScriptedFrame.text(Self.event).bytes + [0x81, 0x02, 0x68, 0x69]
        for piece in cutting(all) {
            try await peer.write(Array(piece))
            // The client has read this piece before the next one is there.
            await rounds(3)
        }
        await recorder.wait(for: .text("hi"))
        link.abort()
        _ = await recorder.end()
        return recorder.entries
    }

    private static let expected: [Recorder.Entry] = [.opened, .text(event), .text("hi"), .ended]

    @Test("A1a: frames glued to the answer are the first messages")
    func glued() async throws {
        #expect(try await connect { [$0[...]] } == Self.expected)
    }

    @Test("A1b: the answer and the first frames may be cut anywhere")
    func cutAnywhere() async throws {
        var offset = 1
        while true {
            let cut = offset
            var isOver = false
            let entries = try await connect { all in
                [all[..<min(cut, all.count)], all[min(cut, all.count)...]]
            }
            #expect(entries == Self.expected, "cut at \(cut)")
            // The answer's length is always the same: the accept key has a fixed size.
            isOver = cut >= 97 + 32 + 2 + Self.event.utf8.count + 4
            if isOver { break }
            offset += 1
        }
    }

    @Test("A1c: the answer and the first frames may come byte by byte")
    func byteByByte() async throws {
        let entries = try await connect { all in all.indices.map { all[$0...$0] } }
        #expect(entries == Self.expected)
    }

    /// The error that an answer leads to; nil where the client connects.
    private func outcome(
        _ options: WebSocketOptions = WebSocketOptions(), _ answer: (ScriptedRequest) -> String
    ) async throws -> WebSocketError? {
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = WebSocketClientTests.connect(server, recorder, options)
        let peer = try await server.accept()
        try await peer.write(answer(try await peer.readHead()))
        await recorder.wait(for: .opened)
        link.abort()
        let end = await recorder.end()
        return recorder.entries.contains(.opened) ? nil : end?.error
    }

    @Test(
        "A3: names and tokens are read without regard to case and space",
        arguments: [
            "HTTP/1.1 101 ok\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept:KEY",
            "HTTP/1.1 101 Switching Protocols\r\nUPGRADE: WebSocket\r\nCONNECTION: UPGRADE\r\nSEC-WEBSOCKET-ACCEPT: KEY",
            "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nconnection: keep-alive, uPgrade\r\nSec-WebSocket-Accept: KEY",
            "HTTP/1.1 101 x\r\nUpgrade:\t websocket \t\r\nConnection:Upgrade\t\r\nSec-WebSocket-Accept:\t\tKEY  ",
            "HTTP/1.1 101\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY",
        ])
    func spelling(answer: String) async throws {
        let error = try await outcome { request in
            answer.replacing("KEY", with: request.accept) + "\r\n\r\n"
        }
        #expect(error == nil)
    }

    @Test(
        "RFC 6455 §4.1: an answer that is no upgrade is refused, with what is wrong in words",
        arguments: [
            (
                "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgraded\r\nSec-WebSocket-Accept: KEY",
                "Connection"
            ),
            ("HTTP/1.1 101 x\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: KEY", "Connection"),
            ("HTTP/1.1 101 x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY", "Upgrade"),
            ("HTTP/1.1 101 x\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY", "Upgrade"),
            ("HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade", "Sec-WebSocket-Accept"),
            (
                "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
                "Sec-WebSocket-Accept"
            ),
            (
                "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY\r\nSec-WebSocket-Accept: KEY",
                "Sec-WebSocket-Accept"
            ),
            (
                "HTTP/1.0 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY",
                "HTTP/1.0"
            ),
            ("SSH-2.0-OpenSSH_9.6", "HTTP/1.1"),
        ])
    func wrongAnswer(answer: String, word: String) async throws {
        let error = try await outcome { request in
            answer.replacing("KEY", with: request.accept) + "\r\n\r\n"
        }
        #expect(error?.kind == .violation)
        #expect(error?.phase == .upgrading)
        #expect(error?.message.contains(word) == true, "\(String(describing: error))")
    }

    @Test("A5: an extension or a subprotocol nobody offered is refused")
    func unrequested() async throws {
        let offersNothing = WebSocketOptions()
        var offersTwo = WebSocketOptions()
        offersTwo.subprotocols = ["p1", "p2"]
        for (options, field) in [
            (offersNothing, "Sec-WebSocket-Extensions: permessage-deflate"),
            (offersNothing, "Sec-WebSocket-Protocol: x"), (offersTwo, "Sec-WebSocket-Protocol: p3"),
            (offersTwo, "Sec-WebSocket-Protocol: p1, p2"), (offersTwo, "Sec-WebSocket-Protocol: P1"),
        ] {
            let error = try await outcome(options) { request in
                String(decoding: request.upgrade([field]), as: UTF8.self)
            }
            #expect(error?.kind == .violation, "\(field)")
        }
    }

    @Test("A5: one of the offered subprotocols may be chosen, or none")
    func subprotocols() async throws {
        var options = WebSocketOptions()
        options.subprotocols = ["p1", "p2"]
        for (fields, chosen) in [(["Sec-WebSocket-Protocol: p2"], "p2"), ([], nil)] {
            let server = try ScriptedServer()
            let recorder = Recorder()
            let link = WebSocketClientTests.connect(server, recorder, options)
            let peer = try await server.accept()
            let request = try await peer.readHead()
            #expect(request.values("Sec-WebSocket-Protocol") == ["p1, p2"])
            try await peer.write(request.upgrade(fields))
            await recorder.wait(for: .opened)
            #expect(recorder.agreement?.subprotocol == chosen)
            link.abort()
        }
    }

    @Test("The request is what RFC 6455 §4.1 asks for, with the application's own fields")
    func request() async throws {
        var options = WebSocketOptions()
        options.headers = ["Authorization": "Bearer t1", "Cookie": "a=b"]
        options.headers.append("X-Twice", "1")
        options.headers.append("X-Twice", "2")
        let server = try ScriptedServer()
        let recorder = Recorder()
        let link = WebSocketHandle.connect(
            to: server.url + "path/x?y=z&q", options: options, handler: recorder)
        let peer = try await server.accept()
        let request = try await peer.readHead()
        #expect(request.lines.first == "GET /path/x?y=z&q HTTP/1.1")
        #expect(request.values("Host") == ["127.0.0.1:\(server.port)"])
        #expect(request.values("Upgrade") == ["websocket"])
        #expect(request.values("Connection") == ["Upgrade"])
        #expect(request.values("Sec-WebSocket-Version") == ["13"])
        #expect(request.values("Sec-WebSocket-Key").first?.utf8.count == 24)
        #expect(request.values("Sec-WebSocket-Extensions") == [])
        #expect(request.values("Authorization") == ["Bearer t1"])
        #expect(request.values("Cookie") == ["a=b"])
        #expect(request.values("X-Twice") == ["1", "2"])
        link.abort()
        #expect(await recorder.end()?.wasOpen == false)
    }

    @Test(
        "Fields of the handshake itself are refused by name, before anything is sent",
        arguments: [
            "Host", "UPGRADE", "connection", "Sec-WebSocket-Key", "sec-websocket-protocol", "Content-Length",
        ])
    func forbiddenFields(name: String) async throws {
        let server = try ScriptedServer()
        var options = WebSocketOptions()
        options.headers = [name: "x"]
        let error = await webSocketError { _ = try await WebSocket.connect(to: server.url, options: options) }
        #expect(error?.kind == .misuse)
        #expect(error?.message.contains(name) == true)
        #expect(try await !server.hasConnection())
    }

    @Test(
        "A field that could smuggle another one is refused",
        arguments: [
            ("X-A", "b\r\nX-C: d"), ("X-A", "b\nc"), ("X A", "b"), ("", "b"), ("X-A:", "b"), ("X-A", "b\0"),
        ])
    func smuggling(name: String, value: String) async throws {
        let server = try ScriptedServer()
        var options = WebSocketOptions()
        options.headers.append(name, value)
        let error = await webSocketError { _ = try await WebSocket.connect(to: server.url, options: options) }
        #expect(error?.kind == .misuse)
        #expect(try await !server.hasConnection())
    }
}
