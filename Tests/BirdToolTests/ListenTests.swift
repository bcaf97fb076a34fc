import BirdRealtimeTestKit
import Foundation
import Testing

@Suite("bird listen", .timeLimit(.minutes(3)))
struct ListenTests {
    /// What every run against an edge needs.
    static func arguments(_ edge: LoopbackEdge, _ more: String...) -> [String] {
        [
            "listen", "--app-key", edge.appKey, "--host", edge.wsHost, "--insecure", "--auth-endpoint",
            edge.authEndpoint, "--member-auth-endpoint", edge.memberAuthEndpoint, "--auth-timeout", "60",
            "--connect-timeout", "60",
        ] + more
    }

    static func withEdge(
        _ configuration: LoopbackEdge.Configuration = .init(), _ body: (LoopbackEdge) async throws -> Void
    ) async throws {
        let edge = LoopbackEdge(configuration)
        try await edge.start()
        do {
            try await body(edge)
        } catch {
            await edge.stop()
            throw error
        }
        await edge.stop()
    }

    @Test("every transition from initialized on, then events; --count counts application events alone")
    func listensAndCounts() async throws {
        try await Self.withEdge { edge in
            let run = try ToolRun(Self.arguments(edge, "--count", "2", "orders"))
            let first = try #require(await run.output.type("state"))
            #expect(first["previous"] == "initialized" && first["current"] == "connecting")
            let second = try #require(await run.output.type("state"))
            #expect(second["current"] == "connected" && second["connection_id"] == "1.1")
            let subscribed = await run.output.event("bird:subscription_succeeded")
            #expect(subscribed?["channel"] == "orders")
            await edge.publish(channel: "orders", event: "created", data: #"{"id":9007199254740993}"#)
            await edge.publish(channel: "orders", event: "note", data: "plain text")
            let event = try #require(await run.output.event("created"))
            #expect(event.text.contains(#""data":{"id":9007199254740993}"#))
            let at: String = try #require(event["at"])
            #expect(at.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
            let note = try #require(await run.output.event("note"))
            #expect(note["data"] == "plain text")
            #expect(await run.exitCode() == 0)
        }
    }

    @Test("an event filter hides other application events, which do not count")
    func filters() async throws {
        try await Self.withEdge { edge in
            let run = try ToolRun(Self.arguments(edge, "--count", "1", "--event", "b", "orders"))
            _ = await run.output.event("bird:subscription_succeeded")
            await edge.publish(channel: "orders", event: "a")
            await edge.publish(channel: "orders", event: "b")
            let rest = await run.output.rest()
            #expect(rest.contains { $0.contains(#""event":"b""#) })
            #expect(!rest.contains { $0.contains(#""event":"a""#) })
            #expect(await run.exitCode() == 0)
        }
    }

    @Test("a refused app key is an error line with its code, and exit 1")
    func refused() async throws {
        try await Self.withEdge { edge in
            let run = try ToolRun([
                "listen", "--app-key", "wrong", "--host", edge.wsHost, "--insecure", "orders",
            ])
            let error = await run.output.type("error")
            #expect(error?["code"] == 4001)
            #expect(await run.exitCode() == 1)
        }
    }

    @Test("the time of --for ends with 0, or with 3 when --count was not reached")
    func times() async throws {
        try await Self.withEdge { edge in
            let plain = try ToolRun(Self.arguments(edge, "--for", "0.2", "orders"))
            #expect(await plain.exitCode() == 0)
            let unmet = try ToolRun(Self.arguments(edge, "--for", "0.2", "--count", "1", "orders"))
            #expect(await unmet.exitCode() == 3)
        }
    }

    @Test("presence comes with its member ids, signin with the member's, and the member's own events")
    func members() async throws {
        var configuration = LoopbackEdge.Configuration()
        configuration.member = { _ in LoopbackEdge.Member(id: "7", info: #"{"name":"ada"}"#) }
        try await Self.withEdge(configuration) { edge in
            let run = try ToolRun(Self.arguments(edge, "--signin", "--interactive", "presence-room"))
            // The two come in any order.
            var subscribed: OutputLine?
            var signedIn: OutputLine?
            while subscribed == nil || signedIn == nil {
                let text = try #require(await run.output.next())
                let line = try #require(OutputLine(text))
                if line.type == "signin" { signedIn = line }
                if line["event"] == "bird:subscription_succeeded" { subscribed = line }
            }
            #expect(signedIn?["member_id"] == "7")
            let data: [String: Any] = try #require(subscribed?["data"])
            #expect(data["member_ids"] as? [String] == ["7"])
            try await edge.waitFor { !$0.received("bird:subscribe", channel: "#server-to-user-7").isEmpty }
            await edge.publish(toMember: "7", event: "greeting", data: #"{"text":"hi"}"#)
            let greeting = try #require(await run.output.type("member"))
            #expect(greeting["event"] == "greeting")
            run.stop()
            #expect(await run.exitCode() == 0)
        }
    }

    @Test("the first signin's failure is a signin_error line")
    func signinFails() async throws {
        try await Self.withEdge { edge in
            edge.failAuth(1, with: .status(403))
            let run = try ToolRun(Self.arguments(edge, "--signin", "--interactive"))
            let line = await run.output.type("signin_error")
            #expect(line?.text.contains("403") == true)
            run.stop()
            #expect(await run.exitCode() == 0)
        }
    }

    @Test("commands typed are acknowledged, and the end of stdin ends nothing")
    func interactive() async throws {
        try await Self.withEdge { edge in
            let run = try ToolRun(Self.arguments(edge, "--interactive"))
            _ = await run.output.state("connected")
            try run.type("trigger private-chat client-typing {}")
            let early = try #require(await run.output.type("ack"))
            #expect(early["sent"] == false && early.has("error"))
            try run.type("subscribe private-chat")
            // The acknowledgement and the service's answer come in either order.
            _ = await run.output.event("bird:subscription_succeeded")
            try run.type(#"trigger private-chat client-typing {"who":"ada lovelace"}"#)
            let sent = try #require(await run.output.line(["command": "trigger"]))
            #expect(sent["sent"] == true && sent["channel"] == "private-chat")
            try await edge.waitFor {
                $0.received("client-typing").first?.text.contains("ada lovelace") == true
            }
            try run.type("dance")
            #expect(await run.output.line(["command": "dance"])?.has("error") == true)
            try run.type("disconnect")
            _ = await run.output.state("disconnected")
            try run.type("connect")
            _ = await run.output.event("bird:subscription_succeeded")
            try run.endInput()
            await edge.publish(channel: "private-chat", event: "still-here")
            #expect(await run.output.event("still-here") != nil)
            run.stop()
            #expect(await run.exitCode() == 0)
        }
    }

    @Test("SIGTERM closes with 1000 and exits 0")
    func terminates() async throws {
        try await Self.withEdge { edge in
            let run = try ToolRun(Self.arguments(edge, "orders"))
            _ = await run.output.event("bird:subscription_succeeded")
            run.stop()
            #expect(await run.exitCode() == 0)
            try await edge.waitFor { $0.end(ofConnection: 1) != nil }
            #expect(edge.log.controlFrames(.received).contains(.close(code: 1000, reason: "")))
        }
    }
}
