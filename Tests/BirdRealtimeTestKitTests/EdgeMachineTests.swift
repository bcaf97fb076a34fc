import Testing

@testable import BirdRealtimeTestKit

private typealias Code = LoopbackEdge.ErrorCode

@Suite("The edge's machine: messages and signatures")
struct EdgeMachineTests {
    @Test("the handshake event names the connection and the activity timeout, as a string of JSON")
    func handshake() {
        var harness = MachineHarness(encodesDataAsString: true)
        harness.open(3)
        #expect(
            harness.machine.handshake(3)
                == #"{"event":"bird:connection_established","data":"{\"connection_id\":\"3.3\",\"activity_timeout\":120}"}"#
        )
    }

    @Test("an unknown application key and a wrong protocol version are refused and closed with the same code")
    func unknownApplication() {
        for (target, code) in [
            ("/app/other?protocol=7", 4001), ("/app/key?protocol=6", 4007), ("/app/key", 4007),
        ] {
            var harness = MachineHarness()
            let actions = harness.machine.opened(1, target: AppTarget(target))
            #expect(Array(actions.prefix(2)).refusalCode == code)
            guard case .close(UInt16(code), _, connection: 1) = actions.last else {
                Issue.record("not closed with \(code)")
                continue
            }
            #expect(harness.subscribe("news", 1).isEmpty)
        }
    }

    @Test("the application key is one percent-encoded path segment")
    func target() {
        #expect(AppTarget("/app/a%2Fb%3F%20?x=1&protocol=7").appKey == "a/b? ")
        #expect(AppTarget("/app/a%2Fb%3F%20?x=1&protocol=7").protocolVersion == "7")
        for target in ["/app/a/b", "/app/", "/app", "/", "/apps/a", "/app/%zz", "/app/%f"] {
            #expect(AppTarget(target).appKey == nil, "\(target)")
        }
    }

    @Test(
        "a message that is not of the dialect is refused, and the connection goes on",
        arguments: [
            "", "{", "7", "[]", #""text""#, "{}", #"{"event":7}"#, #"{"event":"bird:subscribe"}"#,
            #"{"event":"bird:subscribe","data":{}}"#, #"{"event":"bird:subscribe","data":{"channel":7}}"#,
            #"{"event":"bird:subscribe","data":{"channel":""}}"#, #"{"event":"bird:subscribe","data":[]}"#,
            #"{"event":"bird:unsubscribe","data":{}}"#, #"{"event":"bird:signin","data":{}}"#,
            #"{"event":"bird:unheard-of","data":{}}"#, #"{"event":"bird_internal:member_added","data":{}}"#,
            #"{"event":"order","channel":"private-a","data":{}}"#,
        ])
    func malformed(_ text: String) {
        var harness = MachineHarness()
        harness.open(1)
        #expect(harness.receive(text).refusalCode == Code.malformedMessage)
        #expect(harness.receive(#"{"event":"bird:ping","data":{}}"#) == [.send(EdgeFrame.pong, to: 1)])
    }

    @Test("a binary message is refused")
    func binary() {
        var harness = MachineHarness()
        harness.open(1)
        #expect(harness.machine.receivedBinary(from: 1).refusalCode == Code.malformedMessage)
    }

    @Test("data that is JSON inside a string is refused")
    func stringifiedData() {
        var harness = MachineHarness()
        harness.open(1)
        harness.subscribe("private-a", 1)
        for text in [
            #"{"event":"bird:subscribe","data":"{\"channel\":\"news\"}"}"#,
            #"{"event":"bird:ping","data":""}"#,
            #"{"event":"client-x","channel":"private-a","data":"{\"a\":1}"}"#,
            #"{"event":"client-x","channel":"private-a","data":"[1]"}"#,
        ] {
            #expect(harness.receive(text).refusalCode == Code.stringifiedData, "\(text)")
        }
    }

    @Test("a client event whose data is a plain string passes")
    func plainString() {
        var harness = MachineHarness()
        harness.open(1, 2)
        harness.subscribe("private-a", 1)
        harness.subscribe("private-a", 2)
        let actions = harness.receive(#"{"event":"client-x","channel":"private-a","data":"hello"}"#)
        #expect(actions.lines == [#"2 client-x "hello""#])
    }

    @Test("pong is taken in silence")
    func pong() {
        var harness = MachineHarness()
        harness.open(1)
        #expect(harness.receive(#"{"event":"bird:pong","data":{}}"#).isEmpty)
    }

    @Test("a private channel needs the signature of its connection id and name")
    func privateSignature() {
        var harness = MachineHarness()
        harness.open(1, 2)
        #expect(harness.subscribe("private-a", 1).lines == ["1 bird_internal:subscription_succeeded {}"])
        for auth in [
            #""key:sig(1.1:private-a)""#, #""key:sig(2.2:private-b)""#, #""other:sig(2.2:private-a)""#,
            #""""#,
            "7", "null",
        ] {
            let text =
                #"{"event":"bird:subscribe","data":{"channel":"private-a","auth":\#(auth)}}"#
            #expect(harness.receive(text, from: 2).refusalCode == Code.unauthorized, "\(auth)")
        }
        #expect(
            harness.receive(#"{"event":"bird:subscribe","data":{"channel":"private-a"}}"#, from: 2)
                .refusalCode == Code.unauthorized)
        #expect(harness.machine.channels["private-a"]?.subscribers == [1])
    }

    @Test("an encrypted channel is signed like a private one")
    func encryptedSignature() {
        var harness = MachineHarness()
        harness.open(1)
        #expect(harness.subscribe("private-encrypted-a", 1).count == 1)
    }

    @Test("a presence signature covers member_data byte for byte")
    func presenceSignature() {
        var harness = MachineHarness()
        harness.open(1)
        let signed = #"{"member_id":"a"}"#
        let other = #"{"member_id": "a"}"#
        let auth = "key:sig(1.1:presence-a:\(signed))"
        let text =
            #"{"event":"bird:subscribe","data":{"channel":"presence-a","auth":\#(JSONText.string(auth)),"#
            + #""member_data":\#(JSONText.string(other))}}"#
        #expect(harness.receive(text).refusalCode == Code.unauthorized)
        #expect(harness.subscribe("presence-a", 1, memberData: nil).refusalCode == Code.unauthorized)
        #expect(harness.subscribe("presence-a", 1, memberData: "7").refusalCode == Code.malformedMessage)
        #expect(harness.subscribe("presence-a", 1, memberData: "{}").refusalCode == Code.malformedMessage)
        #expect(harness.subscribe("presence-a", 1, memberData: signed).count == 1)
    }

    @Test("a second subscription on one connection is refused, after unsubscribing it is not")
    func duplicateSubscription() {
        var harness = MachineHarness()
        harness.open(1)
        harness.subscribe("news", 1)
        #expect(harness.subscribe("news", 1).refusalCode == Code.alreadyDone)
        #expect(harness.unsubscribe("news", 1).isEmpty)
        #expect(harness.unsubscribe("news", 1).isEmpty)
        #expect(harness.subscribe("news", 1).count == 1)
    }

    @Test(
        "client events go to the other subscribers of a private or presence channel, and are refused elsewhere"
    )
    func clientEvents() {
        var harness = MachineHarness(encodesDataAsString: true)
        harness.open(1, 2)
        for name in ["news", "private-a", "private-encrypted-a"] {
            harness.subscribe(name, 1)
            harness.subscribe(name, 2)
        }
        let event = { (channel: String) in #"{"event":"client-x","channel":"\#(channel)","data":{"n":1}}"# }
        #expect(
            harness.receive(event("private-a"))
                == [.send(#"{"event":"client-x","channel":"private-a","data":"{\"n\":1}"}"#, to: 2)])
        for channel in ["news", "private-encrypted-a", "private-other", "presence-other"] {
            #expect(harness.receive(event(channel)).refusalCode == Code.clientEventRejected, "\(channel)")
        }
        #expect(harness.receive(#"{"event":"client-x","data":1}"#).refusalCode == Code.clientEventRejected)
    }

    @Test("an event reaches the subscribers of its channel, except the one left out")
    func publish() {
        var harness = MachineHarness()
        harness.open(1, 2, 3)
        harness.subscribe("news", 1)
        harness.subscribe("news", 3)
        let all = harness.machine.publish(channel: "news", event: "e", data: #"{"a":1}"#)
        #expect(all.receivers == 2)
        #expect(all.actions.lines == [#"1 e {"a":1}"#, #"3 e {"a":1}"#])
        #expect(harness.machine.publish(channel: "news", event: "e", data: "1", except: "3.3").receivers == 1)
        #expect(harness.machine.publish(channel: "other", event: "e", data: "1").receivers == 0)
    }

    @Test("data that is not JSON is sent as a string")
    func publishNotJSON() {
        var harness = MachineHarness(encodesDataAsString: true)
        harness.open(1)
        harness.subscribe("news", 1)
        let frame = #"{"event":"e","channel":"news","data":"{bad"}"#
        #expect(
            harness.machine.publish(channel: "news", event: "e", data: "{bad").actions == [
                .send(frame, to: 1)
            ])
        var plain = MachineHarness()
        plain.open(1)
        plain.subscribe("news", 1)
        #expect(
            plain.machine.publish(channel: "news", event: "e", data: "{bad").actions == [.send(frame, to: 1)])
    }

    @Test("subscribers hear how many connections a channel has whenever that changes")
    func connectionCount() {
        var harness = MachineHarness(sendsConnectionCount: true)
        harness.open(1, 2)
        let count = "bird_internal:connection_count"
        #expect(harness.subscribe("news", 1).lines.last == #"1 \#(count) {"connection_count":1}"#)
        #expect(
            harness.subscribe("news", 2).lines.suffix(2) == [
                #"1 \#(count) {"connection_count":2}"#, #"2 \#(count) {"connection_count":2}"#,
            ])
        #expect(harness.machine.closed(1).lines == [#"2 \#(count) {"connection_count":1}"#])
        #expect(harness.unsubscribe("news", 2).isEmpty)
        #expect(harness.machine.channels.isEmpty)
    }
}
