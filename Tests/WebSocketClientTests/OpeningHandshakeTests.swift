import Testing
import WebSocketClient

@Suite("The opening handshake", .timeLimit(.minutes(2)))
struct OpeningHandshakeTests {
    @Test("A1: frames glued to the answer are the first messages")
    func glued() async throws {
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url)
        let peer = try await server.accept()
        let request = try await peer.readHead()
        try await peer.write(
            request.upgrade() + ScriptedFrame.text("first").bytes + ScriptedFrame.text("second").bytes)
        let socket = try await connecting
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("first"))
        #expect(try await messages.next() == .text("second"))
    }
}
