import Foundation
import WebSocketClient

/// The whole way of a message, shown line by line: TLS with a verified certificate, the upgrade, text and binary, a ping,
/// a large message in pieces, the closing handshake.
struct Demo {
    func run() async throws {
        let identity = try LoopbackIdentity()
        var server = WebSocketListener.Options()
        server.identity = (identity.certificateChainPEM, identity.privateKeyPEM)
        server.connection.deflate = DeflateOptions()
        let listener = try await WebSocketListener.listen(options: server) { request in
            say("server", "a client asks for \(request.target), subprotocols \(request.subprotocols)")
            return .accept(
                Echo { end in say("server", "closed with \(end.closeInfo.code.rawValue)") },
                subprotocol: request.subprotocols.first)
        }
        defer { listener.close() }
        say("server", "listens on wss://127.0.0.1:\(listener.port)")

        var options = WebSocketOptions()
        options.tls.trust = .pem(identity.authorityPEM)
        options.subprotocols = ["echo.example"]
        options.deflate = DeflateOptions()
        let socket = try await WebSocket.connect(
            to: "wss://127.0.0.1:\(listener.port)/demo", options: options)
        let agreed = socket.agreement
        say("client", "connected with \(agreed.tlsVersion ?? "no TLS"), certificate verified")
        say(
            "client",
            "agreed on \(agreed.subprotocol ?? "no subprotocol") and \(agreed.extensions ?? "no extension")")

        var messages = socket.messages.makeAsyncIterator()
        try await socket.send("hello from Swift on Linux")
        if case .text(let text)? = try await messages.next() { say("client", "text comes back: \(text)") }

        try await socket.send([0, 1, 2, 255])
        if case .binary(let bytes)? = try await messages.next() {
            say("client", "binary comes back: \(bytes)")
        }

        let microseconds = try await socket.ping() / Duration.microseconds(1)
        say("client", "ping answered in \(Int(microseconds)) µs")

        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        try await socket.send(.binary) { writer in
            for _ in 0..<16 { try await writer.write(piece) }
        }
        if case .binary(let bytes)? = try await messages.next() {
            say("client", "a message sent in 16 pieces comes back whole: \(bytes.count >> 20) MiB")
        }

        await socket.close(code: .normalClosure, reason: "done")
        if let info = socket.closeInfo {
            say("client", "closed: sent 1000, received \(info.code.rawValue), clean: \(info.isClean)")
        }

        do {
            _ = try await WebSocket.connect(to: "wss://127.0.0.1:\(listener.port)/")
        } catch {
            say("client", "without the authority it refuses: \(error)")
        }
    }
}

private func say(_ who: String, _ what: String) {
    print("\(who)  \(what)")
    fflush(nil)
}
