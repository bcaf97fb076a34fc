import Testing

@testable import BirdRealtimeTestKit

private typealias Code = LoopbackEdge.ErrorCode

@Suite("The edge's machine: presence and members")
struct EdgeMachineMemberTests {
    private func data(_ id: String, info: String? = nil, watchlist: [String]? = nil) -> String {
        JSONText.object([
            ("member_id", JSONText.string(id)), ("member_info", info),
            ("watchlist", watchlist.map(JSONText.strings)),
        ])
    }

    @Test("a presence subscription answers with all members, itself included, and tells the others")
    func presence() {
        var harness = MachineHarness()
        harness.open(1, 2)
        let succeeded = "bird_internal:subscription_succeeded"
        #expect(
            harness.subscribe("presence-a", 1, memberData: data("a", info: #"{"n":1}"#)).lines == [
                #"1 \#(succeeded) {"presence":{"ids":["a"],"hash":{"a":{"n":1}},"count":1}}"#
            ])
        #expect(
            harness.subscribe("presence-a", 2, memberData: data("b")).lines == [
                #"2 \#(succeeded) {"presence":{"ids":["a","b"],"hash":{"a":{"n":1},"b":null},"count":2}}"#,
                #"1 bird_internal:member_added {"member_id":"b"}"#,
            ])
        #expect(
            harness.unsubscribe("presence-a", 1).lines == [
                #"2 bird_internal:member_removed {"member_id":"a","member_info":{"n":1}}"#
            ])
    }

    @Test("a member with several connections is added once and removed with the last one")
    func severalConnections() {
        var harness = MachineHarness()
        harness.open(1, 2, 3)
        harness.subscribe("presence-a", 1, memberData: data("a"))
        harness.subscribe("presence-a", 2, memberData: data("b"))
        #expect(harness.subscribe("presence-a", 3, memberData: data("b")).count == 1)
        #expect(harness.machine.closed(2).isEmpty)
        #expect(harness.machine.closed(3).lines == [#"1 bird_internal:member_removed {"member_id":"b"}"#])
    }

    @Test("a numeric member id stays a number, of any size")
    func numericID() {
        var harness = MachineHarness()
        harness.open(1, 2)
        harness.subscribe("presence-a", 1, memberData: #"{"member_id":1}"#)
        let actions = harness.subscribe("presence-a", 2, memberData: #"{"member_id":9007199254740993}"#)
        #expect(actions.lines.last == #"1 bird_internal:member_added {"member_id":9007199254740993}"#)
    }

    @Test("a sign-in is checked, answered with the signed string, and opens the member's channel")
    func signin() {
        var harness = MachineHarness()
        harness.open(1, 2)
        let member = data("a")
        #expect(harness.subscribe("#server-to-user-a", 1).refusalCode == Code.unauthorized)
        let wrong = #"{"event":"bird:signin","data":{"auth":"key:sig(no)","member_data":"{}"}}"#
        #expect(harness.receive(wrong).refusalCode == Code.unauthorized)
        #expect(
            harness.signin(member, 1).lines == [
                "1 bird:signin_success \(JSONText.object([("member_data", JSONText.string(member))]))"
            ])
        #expect(harness.subscribe("#server-to-user-a", 1).count == 1)
        #expect(harness.subscribe("#server-to-user-a", 2).refusalCode == Code.unauthorized)
        #expect(harness.subscribe("#other", 1).refusalCode == Code.unauthorized)
        #expect(
            harness.receive(##"{"event":"client-x","channel":"#server-to-user-a","data":1}"##).refusalCode
                == Code.clientEventRejected)
    }

    @Test("signing in again as the same member succeeds, as another one it does not")
    func secondSignin() {
        var harness = MachineHarness()
        harness.open(1)
        harness.signin(data("a"), 1)
        #expect(harness.signin(data("a"), 1).count == 1)
        #expect(harness.signin(data("b"), 1).refusalCode == Code.alreadyDone)
    }

    @Test("a watchlist is answered with a snapshot and with each coming and going of a member")
    func watchlist() {
        var harness = MachineHarness()
        harness.open(1, 2, 3)
        let events = "bird_internal:watchlist_events"
        #expect(
            harness.signin(data("w", watchlist: ["a", "b"]), 1).lines.last
                == #"1 \#(events) {"events":[{"name":"offline","member_ids":["a","b"]}]}"#)
        #expect(
            harness.signin(data("a", watchlist: ["w", "b"]), 2).lines.suffix(2) == [
                #"2 \#(events) {"events":[{"name":"online","member_ids":["w"]},{"name":"offline","member_ids":["b"]}]}"#,
                #"1 \#(events) {"events":[{"name":"online","member_ids":["a"]}]}"#,
            ])
        #expect(harness.signin(data("a"), 3).count == 1)
        #expect(harness.machine.closed(2).isEmpty)
        #expect(
            harness.machine.closed(3).lines == [
                #"1 \#(events) {"events":[{"name":"offline","member_ids":["a"]}]}"#
            ])
    }

    @Test("closing a connection that never was is nothing")
    func closeUnknown() {
        var harness = MachineHarness()
        #expect(harness.machine.closed(7).isEmpty)
    }
}
