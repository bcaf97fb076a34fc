import Testing

@testable import RealtimeCore

@Suite("§8 Channels") struct ChannelTests {
    private func subscribeFrame(_ name: String) -> String {
        #"{"event":"bird:subscribe","data":{"channel":"\#(name)"}}"#
    }

    private func unsubscribeFrame(_ name: String) -> String {
        #"{"event":"bird:unsubscribe","data":{"channel":"\#(name)"}}"#
    }

    @Test("a hundred subscribes before connected: one object, one frame")
    func idempotent() {
        var client = Client()
        for _ in 0..<100 { #expect(client.subscribe("c") == []) }
        client.connect()
        #expect(client.establish(1).frames == [subscribeFrame("c")])
        for _ in 0..<100 { #expect(client.subscribe("c") == []) }
        #expect(client.ok("c") == [.subscriptionSucceeded(client.id("c"), nil)])
        #expect(client.ok("c") == [])
        for _ in 0..<100 { #expect(client.subscribe("c") == []) }
    }

    @Test("after unsubscribe the next subscribe gives a new object")
    func newObject() {
        var client = Client.connected()
        client.subscribe("c")
        let first = client.id("c")
        client.unsubscribe("c")
        #expect(client.machine.channelID(named: "c") == nil)
        client.subscribe("c")
        #expect(client.id("c") != first)
        #expect(client.machine.roster(of: first) == nil)
    }

    @Test("J1 an authorization of the old connection is dropped, before and after the next handshake")
    func lateAuthorization() {
        var client = Client.connected()
        client.subscribe("private-a")
        let old = client.requests[0]
        #expect(old.connectionID == "1.1")
        #expect(client.end().contains(.cancelAuthorization(old.tag)))
        #expect(client.authorize(old.tag) == [])
        client.connect()
        client.establish(2)
        #expect(client.requests.count == 2)
        #expect(client.requests[1].connectionID == "2.2")
        #expect(client.authorize(old.tag, "key:old") == [])
        #expect(
            client.authorize(client.requests[1].tag, "key:new").frames == [
                #"{"event":"bird:subscribe","data":{"channel":"private-a","auth":"key:new"}}"#
            ])
        #expect(client.authorize(client.requests[1].tag, "key:new") == [])
    }

    @Test("member_data goes out byte for byte")
    func memberData() {
        var client = Client.connected()
        client.subscribe("presence-a")
        let frames = client.authorize(client.requests[0].tag, "k:s", memberData: #"{"member_id":"é\n\"" }"#)
            .frames
        #expect(
            frames == [
                #"{"event":"bird:subscribe","data":{"channel":"presence-a","auth":"k:s","member_data":"{\"member_id\":\"é\\n\\\"\" }"}}"#
            ])
    }

    @Test("J2 unsubscribe before the authorization landed: nothing is sent")
    func cancelBeforeAuthorization() {
        var client = Client.connected()
        client.subscribe("private-a")
        let tag = client.requests[0].tag
        #expect(client.unsubscribe("private-a") == [.cancelAuthorization(tag)])
        #expect(client.authorize(tag) == [])
        #expect(client.unsubscribe("private-a") == [])
    }

    @Test("J2 unsubscribe before the answer: no success and no event of the cancelled one")
    func cancelBeforeAnswer() {
        var client = Client.connected()
        client.subscribe("c")
        #expect(client.unsubscribe("c").frames == [unsubscribeFrame("c")])
        #expect(client.ok("c") == [])
        client.receive(#"{"event":"x","channel":"c"}"#)
        #expect(client.event == nil)
        client.subscribe("private-a")
        client.authorize(client.requests[0].tag)
        client.unsubscribe("private-a")
        client.subscribe("private-a")
        #expect(client.ok("private-a") == [])
        client.receive(#"{"event":"x","channel":"private-a"}"#)
        #expect(client.event == nil)
    }

    @Test("J2 S-U-S-S-U-S: the last call wins, one success")
    func storm() {
        var client = Client.connected()
        for step in ["S", "U", "S", "S", "U", "S"] {
            if step == "S" { client.subscribe("c") } else { client.unsubscribe("c") }
        }
        let (s, u) = (subscribeFrame("c"), unsubscribeFrame("c"))
        #expect(client.sent == [s, u, s, u, s])
        #expect((client.ok("c") + client.ok("c") + client.ok("c")).successes == 1)
    }

    @Test(
        "J4 a failing authorizer: the channel hears it, others go on, the next subscribe and reconnect ask again"
    )
    func failingAuthorizer() {
        var client = Client.connected()
        client.subscribe("private-a")
        client.subscribe("private-b")
        #expect(
            client.refuse(client.requests[0].tag, status: 401) == [
                .subscriptionFailed(
                    client.id("private-a"), SubscriptionFailure(error: "no", endpoint: "/auth", status: 401))
            ])
        #expect(client.authorize(client.requests[1].tag).frames.count == 1)
        #expect(client.sent.count == 1)
        client.subscribe("private-a")
        #expect(client.requests.count == 3)
        client.subscribe("private-a")
        #expect(client.requests.count == 3)
        client.refuse(client.requests[2].tag, status: 500)
        client.end(code: 4200)
        client.establish(2)
        #expect(client.requests.map(\.channelName).suffix(2) == ["private-a", "private-b"])
        #expect(client.unsubscribe("private-a").frames == [])
    }

    @Test("J5 every subscription of every connection asks for its own authorization")
    func freshAuthorization() {
        var client = Client()
        client.subscribe("private-a")
        client.subscribe("private-b")
        client.connect()
        for number in 1...4 {
            client.establish(number)
            for request in client.requests.suffix(2) { client.authorize(request.tag) }
            client.end(code: 1011)
            client.connect()
        }
        #expect(client.requests.count == 8)
        #expect(
            client.requests.map(\.connectionID) == ["1.1", "1.1", "2.2", "2.2", "3.3", "3.3", "4.4", "4.4"])
    }

    @Test("J7 one subscribe per connection, one event per message")
    func reconnects() {
        var client = Client.connected()
        client.subscribe("c")
        for number in 2...6 {
            client.ok("c")
            #expect(client.end(code: 1011).contains(.subscriptionLost(client.id("c"))))
            #expect(!client.isSubscribed("c"))
            client.connect()
            #expect(client.establish(number).frames == [subscribeFrame("c")])
            client.receive(#"{"event":"x","channel":"c"}"#)
            #expect(client.event?.recipient == .channel(client.id("c")))
        }
    }

    @Test("bird:error cancels no authorization; only a channel that waited for the server sends again")
    func errorWhilePending() {
        var client = Client.connected()
        client.subscribe("private-a")
        client.subscribe("c")
        client.subscribe("d")
        client.ok("d")
        #expect(client.serverError(4300).count == 1)
        #expect(client.authorize(client.requests[0].tag).frames.count == 1)
        #expect(client.subscribe("private-a") == [])
        #expect(client.subscribe("d") == [])
        #expect(client.subscribe("c").frames == [subscribeFrame("c")])
        #expect(client.subscribe("c") == [])
        #expect((client.ok("c") + client.ok("c")).successes == 1)
    }

    @Test("a doubted private channel runs its authorization again; a success that lands meanwhile counts")
    func doubtedPrivate() {
        var client = Client.connected()
        client.subscribe("private-a")
        client.authorize(client.requests[0].tag)
        client.serverError(4300)
        client.subscribe("private-a")
        #expect(client.requests.count == 2)
        let tag = client.requests[1].tag
        #expect(
            client.ok("private-a") == [
                .cancelAuthorization(tag), .subscriptionSucceeded(client.id("private-a"), nil),
            ])
        #expect(client.authorize(tag) == [])
    }

    @Test("§9 bird:error with a channel goes to that channel until it is subscribed")
    func errorWithChannel() {
        var client = Client.connected()
        client.subscribe("c")
        let error = #"{"event":"bird:error","channel":"c","data":{"code":4301,"message":"slow"}}"#
        #expect(
            client.receive(error) == [.subscriptionFailed(client.id("c"), SubscriptionFailure(error: "slow"))]
        )
        #expect(client.subscribe("c").frames.count == 1)
        client.ok("c")
        #expect(client.receive(error) == [.error(ErrorReport(code: 4301, message: "slow"))])
        client.unsubscribe("c")
        #expect(client.receive(error) == [.error(ErrorReport(code: 4301, message: "slow"))])
    }

    @Test("bird_internal:subscription_error refuses the channel and the next subscribe tries again")
    func subscriptionError() {
        var client = Client.connected()
        client.subscribe("c")
        let actions = client.receive(
            #"{"event":"bird_internal:subscription_error","channel":"c","data":"{\"error\":\"full\",\"status\":403}"}"#
        )
        #expect(actions.channelFailures == [SubscriptionFailure(error: "full", status: 403)])
        #expect(client.subscribe("c").frames.count == 1)
    }

    @Test("connection_count hands over its dictionary; unknown internal events reach nobody")
    func internals() {
        var client = Client.connected()
        client.subscribe("c")
        client.ok("c")
        #expect(
            client.receive(
                #"{"event":"bird_internal:connection_count","channel":"c","data":"{\"connection_count\":3}"}"#
            ) == [
                .connectionCount(client.id("c"), Array(#"{"connection_count":3}"#.utf8))
            ])
        for name in [
            "bird_internal:new", "bird_internal:", "bird:subscription_succeeded", #"bird\u005finternal:x"#,
        ] {
            #expect(client.receive(#"{"event":"\#(name)","channel":"c","data":1}"#) == [])
            #expect(client.event == nil)
        }
        client.receive(#"{"event":"client-x","channel":"\u0063","data":1}"#)
        #expect(client.event?.recipient == .channel(client.id("c")))
    }

    @Test("J9 trigger: its checks in their order, then false while not subscribed")
    func trigger() throws {
        var client = Client.connected()
        client.subscribe("private-a")
        func trigger(_ event: String, _ name: String, _ data: String?) throws(ClientEventError) -> Bool {
            var actions: [Action] = []
            let id = client.id(name)
            return try client.machine.trigger(
                event, on: id, named: name, data: data.map { Array($0.utf8) }, into: &actions)
        }
        #expect(throws: ClientEventError.missingPrefix(event: "x")) { try trigger("x", "c", nil) }
        #expect(throws: ClientEventError.publicChannel("c")) { try trigger("client-x", "c", nil) }
        #expect(throws: ClientEventError.encryptedChannel("private-encrypted-a")) {
            try trigger("client-x", "private-encrypted-a", nil)
        }
        #expect(throws: ClientEventError.dataNotJSON) { try trigger("client-x", "private-a", "{bad") }
        #expect(throws: ClientEventError.dataNotJSON) { try trigger("client-x", "private-a", nil) }
        #expect(try !trigger("client-x", "private-a", "1"))
        client.authorize(client.requests[0].tag)
        #expect(try !trigger("client-x", "private-a", "1"))
        client.ok("private-a")
        let id = client.id("private-a")
        let actions = client.perform {
            _ = try? $0.trigger(
                "client-\"x", on: id, named: "private-a", data: Array(#"{"a":[1]}"#.utf8), into: &$1)
        }
        #expect(actions.frames == [#"{"event":"client-\"x","channel":"private-a","data":{"a":[1]}}"#])
        client.disconnect()
        #expect(try !trigger("client-x", "private-a", "1"))
    }

    @Test("J9 error 4301 is told and the link stays up")
    func rateLimited() {
        var client = Client.connected()
        #expect(client.serverError(4301, "slow") == [.error(ErrorReport(code: 4301, message: "slow"))])
        #expect(client.machine.phase == .connected)
    }

    @Test("an application event adds no action and names its parts in the message")
    func applicationEvent() throws {
        var client = Client.connected()
        client.subscribe("c")
        client.ok("c")
        let message = Array(#"{"channel":"c","data":"{\"a\":1}","event":"hello"}"#.utf8)
        #expect(client.receive(message) == [])
        let event = try #require(client.event)
        let isHello = event.name.matches("hello", in: message.span.bytes)
        let text = event.data.text(in: message.span.bytes)
        #expect(isHello)
        #expect(text == Array(#"{"a":1}"#.utf8))
        #expect(client.receive(#"{"event":"hello","channel":"other"}"#) == [])
        #expect(client.event == nil)
        client.receive(#"{"event":"bird:new-thing","channel":"c"}"#)
        #expect(client.event != nil)
    }

    @Test("E3 after disconnect() a peer that keeps talking is not heard")
    func deafAfterDisconnect() {
        var client = Client.connected()
        client.subscribe("c")
        client.ok("c")
        let socket = client.socket
        client.disconnect()
        for _ in 0..<60 {
            client.now = client.now + .seconds(1)
            #expect(client.receive(#"{"event":"x","channel":"c"}"#, on: socket) == [])
            #expect(client.event == nil)
        }
        #expect(client.machine.phase == .disconnected)
    }
}
