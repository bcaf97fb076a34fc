import RealtimeCore
import Testing

@testable import BirdRealtimeTestKit

@Suite("The edge on sockets: the dialect", .timeLimit(.minutes(2)))
struct EdgeDialectTests {
    @Test("each connection gets the handshake event with an id of its own", arguments: ["127.0.0.1", "::1"])
    func handshake(_ host: String) async throws {
        try await withEdge({ $0.host = host }) { edge in
            for number in 1...2 {
                let client = try await RawClient.open(edge)
                let event = try await client.event()
                #expect(event.name == "bird:connection_established")
                #expect(event.data == #"{"connection_id":"\#(number).\#(number)","activity_timeout":120}"#)
            }
        }
    }

    @Test("a private channel, from the auth request to an event")
    func privateChannel() async throws {
        try await withEdge { edge in
            let client = try await RawClient.established(edge)
            let backend = try await RawClient(port: edge.authPort)
            let body = #"{"connection_id":"1.1","channel_name":"private-a"}"#
            let answer = try await backend.post("/bird/auth", body)
            #expect(answer.status == 200)
            let auth = JSONValue(parsing: Array(answer.body.utf8))?["auth"]?.string
            try await client.send(
                String(
                    decoding: FrameEncoder.subscribe(channel: "private-a", auth: auth, memberData: nil),
                    as: UTF8.self))
            let succeeded = try await client.event()
            #expect(succeeded.name == "bird_internal:subscription_succeeded")
            #expect(await edge.publish(channel: "private-a", event: "created", data: #"{"id":7}"#) == 1)
            #expect(
                try await client.text() == #"{"event":"created","channel":"private-a","data":"{\"id\":7}"}"#)
            #expect(
                await edge.connections() == [
                    LoopbackEdge.ConnectionInfo(
                        number: 1, connectionID: "1.1", channels: ["private-a"], memberID: nil)
                ])
            #expect(edge.log.authExchanges(channel: "private-a").map(\.status) == [200])
            #expect(edge.log.received("bird:subscribe", channel: "private-a", on: 1).count == 1)
            #expect(edge.log.violations.isEmpty)
        }
    }

    @Test("the signature is HMAC-SHA256 in lower-case hexadecimal")
    func signature() {
        // RFC 4231 §4.3, test case 2.
        let signature = EdgeSignature(appKey: "key", secret: "Jefe")
        #expect(
            signature.auth(for: "what do ya want for nothing?")
                == "key:5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test("a broken rule is answered with bird:error and the connection goes on")
    func violation() async throws {
        try await withEdge { edge in
            let client = try await RawClient.established(edge)
            try await client.send(#"{"event":"bird:subscribe","data":{"channel":"private-a","auth":"x"}}"#)
            let error = try await client.text()
            #expect(error.hasPrefix(#"{"event":"bird:error","data":{"code":4009,"message":""#))
            try await client.send(#"{"event":"bird:ping","data":{}}"#)
            #expect(try await client.text() == EdgeFrame.pong)
            #expect(edge.log.violations.map(\.code) == [LoopbackEdge.ErrorCode.unauthorized])
        }
    }

    @Test("an unknown application key: bird:error, then a close frame with the same code")
    func unknownApplication() async throws {
        try await withEdge { edge in
            let client = try await RawClient.open(edge, target: "/app/other?protocol=7")
            #expect(try await client.event().name == "bird:error")
            guard case .close(4001, _) = try await client.frame() else {
                Issue.record("no close frame with 4001")
                return
            }
            try await client.send(close: 4001)
            #expect(try await client.frame() == nil)
            let end = try await edge.waitForValue { $0.end(ofConnection: 1) }
            #expect(end == .closed(sent: 4001, received: 4001))
        }
    }

    @Test("a path that is not an application's is refused with 404")
    func otherPath() async throws {
        try await withEdge { edge in
            let client = try await RawClient(port: edge.port)
            #expect(try await client.upgrade(target: "/elsewhere").hasPrefix("HTTP/1.1 404 "))
        }
    }

    @Test("WebSocket pings are answered and logged, both ways")
    func pingFrames() async throws {
        try await withEdge { edge in
            let client = try await RawClient.established(edge)
            try await client.send(opcode: 9, Array("hi".utf8))
            #expect(try await client.frame() == .pong("hi"))
            await edge.inject(.pingFrame(Array("yo".utf8)))
            #expect(try await client.frame() == .ping("yo"))
            try await client.send(opcode: 10, Array("yo".utf8))
            try await edge.waitFor { $0.controlFrames(.received, on: 1).count == 2 }
            #expect(
                edge.log.controlFrames(.received) == [.ping(Array("hi".utf8)), .pong(Array("yo".utf8))])
            #expect(edge.log.controlFrames(.sent) == [.pong(Array("hi".utf8)), .ping(Array("yo".utf8))])
        }
    }

    @Test("a client's close frame is answered with its code and the stream ends")
    func clientCloses() async throws {
        try await withEdge { edge in
            let client = try await RawClient.established(edge)
            try await client.send(close: 1000)
            #expect(try await client.frame() == .close(1000, ""))
            #expect(try await client.frame() == nil)
            let end = try await edge.waitForValue { $0.end(ofConnection: 1) }
            #expect(end == .closed(sent: 1000, received: 1000))
            #expect(await edge.connections().isEmpty)
        }
    }

    @Test("a client that just goes is logged as the end of its stream")
    func clientGoes() async throws {
        try await withEdge { edge in
            let client = try await RawClient.established(edge)
            await client.finish()
            #expect(try await edge.waitForValue { $0.end(ofConnection: 1) } == .endOfStream)
        }
    }

    @Test("a client that breaks RFC 6455 is closed with the code of the violation")
    func brokenFrames() async throws {
        try await withEdge { edge in
            let client = try await RawClient.established(edge)
            try await client.send(bytes: [0x81, 0x02, 0x68, 0x69])  // §5.1: a client masks
            guard case .close(1002, _) = try await client.frame() else {
                Issue.record("no close frame with 1002")
                return
            }
            guard case .violation(1002, _) = try await edge.waitForValue({ $0.end(ofConnection: 1) }) else {
                Issue.record("the end is not a violation")
                return
            }
        }
    }

    @Test("signing in opens the member's channel, on which the backend reaches the member")
    func signin() async throws {
        try await withEdge { edge in
            let client = try await RawClient.established(edge)
            let backend = try await RawClient(port: edge.authPort)
            let answer = try await backend.post(
                "/bird/auth/member", #"{"connection_id":"1.1"}"#, headers: "X-Member-Id: ada\r\n")
            try await client.send(#"{"event":"bird:signin","data":\#(answer.body)}"#)
            #expect(try await client.event().name == "bird:signin_success")
            try await client.send(##"{"event":"bird:subscribe","data":{"channel":"#server-to-user-ada"}}"##)
            #expect(try await client.event().name == "bird_internal:subscription_succeeded")
            #expect(await edge.publish(toMember: "ada", event: "hello", data: "1") == 1)
            #expect(try await client.event() == ("hello", "1"))
            let published = try await backend.post("/publish", #"{"member":"ada","event":"e","data":[2]}"#)
            #expect(published == (200, #"{"receivers":1}"#))
            #expect(try await client.event() == ("e", "[2]"))
        }
    }

    @Test("an event is published over HTTP")
    func publishOverHTTP() async throws {
        try await withEdge { edge in
            let client = try await RawClient.established(edge)
            try await client.send(#"{"event":"bird:subscribe","data":{"channel":"news"}}"#)
            _ = try await client.text()
            let backend = try await RawClient(port: edge.authPort)
            let answer = try await backend.post("/publish", #"{"channel":"news","event":"e","data":{"a":1}}"#)
            #expect(answer == (200, #"{"receivers":1}"#))
            #expect(try await client.event() == ("e", #"{"a":1}"#))
        }
    }
}
