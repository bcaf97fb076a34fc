import Testing

@testable import RealtimeCore

@Suite("§8 Presence") struct PresenceTests {
    private func join(_ client: inout Client, _ number: Int, ids: String, hash: String) -> [Action] {
        let memberData = #"{"member_id":"A"}"#
        client.authorize(client.requests[number].tag, memberData: memberData)
        return client.ok("presence-p", #"{"presence":{"ids":\#(ids),"hash":\#(hash),"count":2}}"#)
    }

    @Test("K1 members are exactly those of the last success, and none while down")
    func replaced() {
        var client = Client.connected()
        client.subscribe("presence-p")
        #expect(
            join(&client, 0, ids: #"["A","B"]"#, hash: #"{"A":{"n":1},"B":null}"#) == [
                .subscriptionSucceeded(
                    client.id("presence-p"),
                    PresenceRoster(
                        members: [
                            PresenceMember(id: "A", info: Array(#"{"n":1}"#.utf8)), PresenceMember(id: "B"),
                        ], ownID: "A"))
            ])
        client.end(code: 4200)
        #expect(client.members("presence-p") == [])
        #expect(client.machine.roster(of: client.id("presence-p"))?.ownID == nil)
        client.establish(2)
        _ = join(&client, 1, ids: #"["A","C"]"#, hash: "{}")
        #expect(client.members("presence-p") == ["A", "C"])
        #expect(client.machine.roster(of: client.id("presence-p"))?.ownID == "A")
    }

    @Test("K3 numeric ids keep every digit")
    func numericIDs() {
        var client = Client.connected()
        client.subscribe("presence-p")
        client.authorize(client.requests[0].tag, memberData: #"{"member_id":42}"#)
        client.ok("presence-p", #"{"presence":{"ids":[42,"9007199254740993"],"hash":{"42":{}}}}"#)
        #expect(client.machine.roster(of: client.id("presence-p"))?.ownID == "42")
        #expect(client.members("presence-p") == ["42", "9007199254740993"])
        let added =
            #"{"event":"bird_internal:member_added","channel":"presence-p","data":{"member_id":9007199254740995,"member_info":null}}"#
        #expect(
            client.receive(added) == [
                .memberAdded(client.id("presence-p"), PresenceMember(id: "9007199254740995"))
            ])
    }

    @Test("K4 one join per member: repeats refresh the info silently, unknown removals are silent")
    func repeats() {
        var client = Client.connected()
        client.subscribe("presence-p")
        _ = join(&client, 0, ids: #"["A"]"#, hash: "{}")
        let id = client.id("presence-p")
        func message(_ event: String, _ data: String) -> String {
            #"{"event":"bird_internal:\#(event)","channel":"presence-p","data":\#(data)}"#
        }
        #expect(client.receive(message("member_added", #"{"member_id":"B"}"#)).count == 1)
        #expect(client.receive(message("member_added", #"{"member_id":"B"}"#)) == [])
        let other = PresenceMember(id: "B", info: Array("7".utf8))
        #expect(
            client.receive(message("member_added", #"{"member_id":"B","member_info":7}"#)) == [
                .memberUpdated(id, other)
            ])
        #expect(client.members("presence-p") == ["A", "B"])
        #expect(client.receive(message("member_removed", #"{"member_id":"X"}"#)) == [])
        #expect(
            client.receive(message("member_removed", #"{"member_id":"B"}"#)) == [.memberRemoved(id, other)])
        for odd in ["{}", "7", "[]", #""x""#, #"{"member_id":{}}"#, #"{"member_id":null}"#] {
            #expect(client.receive(message("member_added", odd)) == [])
        }
    }
}
