import BirdRealtimeTestKit
import Foundation
import Testing
import WebSocketClient

@Suite("bird trigger, edge, publish and ws", .timeLimit(.minutes(3)))
struct SubcommandTests {
    @Test("trigger subscribes, sends and exits 0; a refused channel exits 1")
    func trigger() async throws {
        try await ListenTests.withEdge { edge in
            let words = [
                "--app-key", edge.appKey, "--host", edge.wsHost, "--insecure", "--auth-endpoint",
                edge.authEndpoint,
            ]
            let sent = try ToolRun(["trigger"] + words + ["private-chat", "client-typing", #"{"n":1}"#])
            #expect(await sent.exitCode() == 0)
            #expect(edge.log.received("client-typing").count == 1)
            edge.failAuth(1, with: .status(403))
            let refused = try ToolRun(["trigger"] + words + ["private-chat", "client-typing", "{}"])
            #expect(await refused.exitCode() == 1)
            #expect(await refused.errors.rest().joined().contains("403"))
        }
    }

    @Test("an edge of its own process: listen, publish, drop, log")
    func edge() async throws {
        let log = FileManager.default.temporaryDirectory.appendingPathComponent(
            "edge-\(UUID().uuidString).log")
        defer { try? FileManager.default.removeItem(at: log) }
        let edge = try ToolRun(["edge", "--app-key", "k", "--app-secret", "s", "--log", log.path])
        let ready = try #require(await edge.output.type("edge"))
        let host: String = try #require(ready["host"])
        let publishing: String = try #require(ready["publish_endpoint"])
        let listen = try ToolRun([
            "listen", "--app-key", "k", "--host", host, "--insecure", "--count", "1", "orders",
        ])
        _ = await listen.output.event("bird:subscription_succeeded")
        try edge.type("drop 4200 again")
        #expect(await edge.output.type("ack")?["connections"] == 1)
        _ = await listen.output.event("bird:subscription_succeeded")
        let publish = try ToolRun(["publish", "--edge", publishing, "orders", "created", "{}"])
        #expect(await publish.exitCode() == 0)
        #expect(await listen.output.event("created") != nil)
        #expect(await listen.exitCode() == 0)
        edge.stop()
        #expect(await edge.exitCode() == 0)
        #expect(try String(contentsOf: log, encoding: .utf8).contains("bird:subscribe"))
    }

    @Test("ws sends lines and prints messages; the end of stdin closes with 1000")
    func socket() async throws {
        let listener = try await WebSocketListener.listen { request in
            .accept(EchoHandler(), subprotocol: request.subprotocols.first)
        }
        defer { listener.close() }
        let run = try ToolRun(["ws", "--json", "--subprotocol", "a", "ws://127.0.0.1:\(listener.port)/"])
        #expect(await run.output.type("open")?["subprotocol"] == "a")
        try run.type("hello")
        #expect(await run.output.type("text")?["data"] == "hello")
        try run.endInput()
        let close = await run.output.type("close")
        #expect(close?["code"] == 1000 && close?["clean"] == true)
        #expect(await run.exitCode() == 0)
    }

    @Test("ws says with which status it was refused, and exits 1")
    func refused() async throws {
        let listener = try await WebSocketListener.listen { _ in .refuse(status: 403, reason: "Forbidden") }
        defer { listener.close() }
        let run = try ToolRun(["ws", "--json", "ws://127.0.0.1:\(listener.port)/"])
        #expect(await run.output.type("error")?["status"] == 403)
        #expect(await run.exitCode() == 1)
    }

    private final class EchoHandler: WebSocketHandler {
        func opened(_ agreement: WebSocketAgreement, _ link: WebSocketHandle) {}
        func received(_ kind: MessageKind, _ bytes: RawSpan, _ link: WebSocketHandle) {
            link.send(kind, bytes)
        }
        func ended(_ end: WebSocketEnd) {}
    }
}
