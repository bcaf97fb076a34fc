import BirdRealtimeTestKit
import Dispatch
import Testing

@testable import BirdRealtime

/// Channels, members and authorizations over real sockets, against the loopback edge.
@Suite(.timeLimit(.minutes(2))) struct EdgeChannelTests {
    @Test(
        "J5, J7: after each drop every channel is authorized anew for the new connection, with fresh headers")
    func reauthorizes() async throws {
        let site = try await Site()
        let tokens = Heard<Int>()
        let bird = site.client {
            $0.authHeadersProvider = {
                ["x-token": "t\(tokens.append(1))"]
            }
        }
        let channels = ["private-a", "presence-b", "c"].map { bird.subscribe($0) }
        let heard = Heard<String>()
        channels[0].bind("e", heard.handler)
        var ids: [String] = []
        for round in 1...4 {
            await until { channels.allSatisfy(\.subscribed) }
            ids.append(bird.connectionId ?? "")
            await site.edge.publish(channel: "private-a", event: "e", data: "\(round)")
            await until { heard.count == round }
            if round < 4 {
                await site.edge.inject(.reset)
                let old = ids[round - 1]
                await until { bird.connectionId != old && bird.connectionState == .connected }
            }
        }
        #expect(heard.all == ["1", "2", "3", "4"])
        #expect(Set(ids).count == 4)
        let exchanges = site.edge.log.authExchanges()
        #expect(exchanges.count == 8)
        #expect(Set(exchanges.compactMap { $0.request.header("x-token") }).count == 8)
        #expect(Set(exchanges.map { $0.request.connectionID ?? "" }) == Set(ids))
        for number in 1...4 {
            #expect(site.edge.log.received("bird:subscribe", channel: "c", on: number).count == 1)
        }
        #expect(site.edge.log.violations.isEmpty)
        bird.disconnect()
        await site.edge.stop()
    }

    @Test("K1: after a drop the members are those of the new connection")
    func presence() async throws {
        let site = try await Site()
        let bird = site.client { $0.authHeaders = ["x-member-id": "A"] }
        let other = site.client { $0.authHeaders = ["x-member-id": "B"] }
        let channel = try #require(bird.subscribe("presence-room") as? PresenceChannel)
        let theirs = try #require(other.subscribe("presence-room") as? PresenceChannel)
        await until { channel.members.count == 2 && theirs.members.count == 2 }
        #expect(channel.members.keys.sorted() == ["A", "B"])
        #expect(channel.myId == "A")
        await other.disconnectAndWait()
        await until { channel.members.count == 1 }
        let id = bird.connectionId
        await site.edge.inject(.reset)
        // The roster is read out right behind the subscription's success.
        await until {
            bird.connectionState == .connected && bird.connectionId != id && channel.subscribed
                && !channel.members.isEmpty
        }
        #expect(channel.members.keys.sorted() == ["A"])
        bird.disconnect()
        #expect(channel.members.isEmpty)
        await site.edge.stop()
    }

    @Test("signin, member events and the watchlist, and signing in again after a drop")
    func signin() async throws {
        let site = try await Site {
            $0.member = { request in
                let id = request.header("x-member-id") ?? "?"
                return LoopbackEdge.Member(
                    id: id, info: #"{"name":"n"}"#, watchlist: id == "A" ? ["B"] : [])
            }
        }
        let friend = site.client { $0.authHeaders = ["x-member-id": "B"] }
        _ = try await friend.signin()
        let bird = site.client { $0.authHeaders = ["x-member-id": "A"] }
        let notes = Heard<String>()
        bird.member.bind("note", notes.handler)
        let member = try await bird.signin()
        #expect(member.memberId == "A")
        #expect((member.memberInfo as? [String: Any])?["name"] as? String == "n")
        let online = Heard<String>()
        bird.member.watchlist.bind("online") { online.append("\(($0 as? [String]) ?? [])") }
        await until { online.count >= 1 }
        #expect(online.all.first == #"["B"]"#)
        try await site.edge.waitFor { log in
            log.sent("bird_internal:subscription_succeeded", channel: "#server-to-user-A").count == 1
        }
        await site.edge.publish(toMember: "A", event: "note", data: "1")
        await until { notes.count == 1 }

        let id = bird.connectionId
        await site.edge.inject(.reset)
        await until { bird.connectionId != id && bird.signedInMember?.memberId == "A" }
        try await site.edge.waitFor { log in
            log.sent("bird_internal:subscription_succeeded", channel: "#server-to-user-A").count == 2
        }
        await site.edge.publish(toMember: "A", event: "note", data: "2")
        await until { notes.count == 2 }
        #expect(notes.all == ["1", "2"])
        bird.disconnect()
        friend.disconnect()
        await site.edge.stop()
    }

    @Test("trigger reaches the other subscribers and not the sender")
    func trigger() async throws {
        let site = try await Site()
        let (bird, other) = (site.client(), site.client())
        let (mine, theirs) = (bird.subscribe("private-a"), other.subscribe("private-a"))
        let (heard, own) = (Heard<String>(), Heard<String>())
        theirs.bind("client-typing") { heard.append(described(($0 as? [String: Any])?["who"] as? String)) }
        mine.bind("client-typing", own.handler)
        await until { mine.subscribed && theirs.subscribed }
        #expect(try mine.trigger("client-typing", data: ["who": "me"]))
        await until { heard.count == 1 }
        #expect(heard.all == ["me"])
        #expect(own.count == 0)
        #expect(site.edge.log.violations.isEmpty)
        bird.disconnect()
        other.disconnect()
        await site.edge.stop()
    }

    @Test("J4: a failed authorization is told to its channel, and the next subscribe tries again")
    func authFails() async throws {
        let site = try await Site()
        site.edge.failAuth(with: .status(403), channel: "private-a")
        let bird = site.client()
        let errors = Heard<String>()
        let channel = bird.subscribe("private-a")
        channel.bind(BirdProtocol.Event.subscriptionError) { data in
            let payload = data as? [String: Any]
            errors.append(
                "\(described(payload?["status"] as? Int)) \(described(payload?["endpoint"] as? String))")
        }
        let fine = bird.subscribe("private-b")
        await until { errors.count == 1 && fine.subscribed }
        #expect(errors.all == ["403 \(site.edge.authEndpoint)"])
        #expect(!channel.subscribed)
        bird.subscribe("private-a")
        await until { channel.subscribed }
        bird.disconnect()
        await site.edge.stop()
    }

    @Test("J1: an authorization for the connection before is not used on the next")
    func lateAuth() async throws {
        let site = try await Site()
        let endpoint = try #require(AuthEndpoint(site.edge.authEndpoint))
        let signer = DefaultAuthorizer(
            transport: EndpointTransport(site.options), headers: [:], provider: nil)
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let asked = Heard<String>()
        let answered = Heard<String>()
        let bird = site.client {
            $0.authorizer = { channel, connection in
                // A request of its own, so that a cancelled caller still gets the answer.
                let auth = try await Task {
                    try await signer.authorize(channel: channel, connection: connection, at: endpoint)
                }.value
                asked.append(connection)
                // The first answer waits, whatever becomes of its connection.
                if asked.all.first == connection { await Task { for await _ in gate {} }.value }
                answered.append(connection)
                return auth
            }
        }
        let channel = bird.subscribe("private-a")
        await until { asked.count == 1 }
        await site.edge.inject(.reset)
        await until { channel.subscribed }
        opener.finish()
        await until { answered.count == 2 }
        #expect(answered.all.last == asked.all.first)
        #expect(Set(asked.all).count == 2)
        #expect(channel.subscribed)
        // Only the second connection has asked to subscribe, and its signature was right.
        #expect(site.edge.log.received("bird:subscribe", channel: "private-a").map(\.connection) == [2])
        #expect(site.edge.log.violations.isEmpty)
        bird.disconnect()
        await site.edge.stop()
    }

    @Test("L1, L3: whatever stands in data, the handler runs once, and text and integers are exact")
    func forms() async throws {
        let site = try await Site()
        let bird = site.client()
        let channel = bird.subscribe("c")
        let (texts, values, ids) = (Heard<String>(), Heard<String>(), Heard<Int64>())
        channel.bindData("e") { data in
            texts.append(data.isAbsent ? "absent" : data.text)
            if let id = data.integer(at: "id", as: Int64.self) { ids.append(id) }
        }
        channel.bind("e") { values.append($0 == nil ? "nil" : $0 is String ? "string" : "other") }
        await until { channel.subscribed }
        let forms = [
            (#""hello""#, "hello", "string"), (#""\"hi\"""#, #""hi""#, "string"), (#""""#, "", "string"),
            (#""7""#, "7", "other"), (#""null""#, "null", "other"), (#""{bad""#, "{bad", "string"),
            (
                #""{\"id\":9007199254740993,\"u\":18446744073709551615,\"d\":0.1}""#,
                #"{"id":9007199254740993,"u":18446744073709551615,"d":0.1}"#, "other"
            ),
        ]
        for (literal, _, _) in forms {
            await site.edge.inject(.text(#"{"event":"e","channel":"c","data":\#(literal)}"#))
        }
        await site.edge.inject(.text(#"{"event":"e","channel":"c"}"#))
        await until { values.count == forms.count + 1 }
        #expect(texts.all == forms.map(\.1) + ["absent"])
        #expect(values.all == forms.map(\.2) + ["nil"])
        #expect(ids.all == [9_007_199_254_740_993])
        bird.disconnect()
        await site.edge.stop()
    }
}
