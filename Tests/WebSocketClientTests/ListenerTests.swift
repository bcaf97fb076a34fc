import Testing
import WebSocketClient

@Suite("The listener", .timeLimit(.minutes(2)))
struct ListenerTests {
    @Test("It sees the request and may accept it with a subprotocol and fields")
    func accepts() async throws {
        let listener = try await WebSocketListener.listen { request in
            guard request.target == "/path?q", request.subprotocols == ["a", "b"],
                request.fields["X-Token"] == "t"
            else {
                return .refuse(status: 400)
            }
            return .accept(EchoHandler(), subprotocol: "b", fields: ["X-Served-By": "test"])
        }
        defer { listener.close() }
        var options = WebSocketOptions()
        options.subprotocols = ["a", "b"]
        options.headers = ["X-Token": "t"]
        let socket = try await WebSocket.connect(
            to: "ws://127.0.0.1:\(listener.port)/path?q", options: options)
        #expect(socket.agreement.subprotocol == "b")
        #expect(socket.agreement.fields["X-Served-By"] == "test")
        await socket.close()
    }

    @Test("It may refuse with status, fields and body")
    func refuses() async throws {
        let listener = try await WebSocketListener.listen { _ in
            .refuse(status: 403, reason: "Forbidden", fields: ["X-Why": "none"], body: "not you")
        }
        defer { listener.close() }
        let error = await webSocketError {
            _ = try await WebSocket.connect(to: "ws://127.0.0.1:\(listener.port)/")
        }
        #expect(error?.refusal?.status == 403)
        #expect(error?.refusal?.fields["X-Why"] == "none")
        #expect(error?.refusal?.body == Array("not you".utf8))
    }

    @Test("A subprotocol that was not offered is the server's mistake: 500")
    func notOffered() async throws {
        let listener = try await WebSocketListener.listen { _ in .accept(EchoHandler(), subprotocol: "x") }
        defer { listener.close() }
        let error = await webSocketError {
            _ = try await WebSocket.connect(to: "ws://127.0.0.1:\(listener.port)/")
        }
        #expect(error?.refusal?.status == 500)
        #expect(error?.refusal.map { String(decoding: $0.body, as: UTF8.self).contains("'x'") } == true)
    }

    @Test("Many clients at once are served")
    func many() async throws {
        let listener = try await listenEcho()
        defer { listener.close() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let socket = try await WebSocket.connect(to: "ws://127.0.0.1:\(listener.port)/")
                    try await socket.send("\(number)")
                    var messages = socket.messages.makeAsyncIterator()
                    #expect(try await messages.next() == .text("\(number)"))
                    await socket.close()
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("Once closed it takes nobody more; its connections go on")
    func closed() async throws {
        let listener = try await listenEcho()
        let socket = try await WebSocket.connect(to: "ws://127.0.0.1:\(listener.port)/")
        listener.close()
        await rounds(2)
        let error = await webSocketError {
            _ = try await WebSocket.connect(to: "ws://127.0.0.1:\(listener.port)/")
        }
        #expect(error?.kind == .transport)
        #expect(error?.phase == .connecting)
        try await socket.send("on")
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("on"))
        await socket.close()
    }

    @Test("A host that is no address, and a port that is taken, are told")
    func unusable() async throws {
        let name = await webSocketError {
            _ = try await WebSocketListener.listen(host: "localhost") { _ in .refuse(status: 400) }
        }
        #expect(name?.kind == .misuse)
        let listener = try await listenEcho()
        let taken = await webSocketError {
            _ = try await WebSocketListener.listen(port: listener.port) { _ in .refuse(status: 400) }
        }
        #expect(taken?.kind == .transport)
        listener.close()
    }
}
