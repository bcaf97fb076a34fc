import Dispatch
import Foundation
import RealtimeCore
import Testing

@testable import BirdRealtime

@Suite(.timeLimit(.minutes(2))) struct ChannelTests {
    @Test("The prefix of a name decides the class, and there is one object per name")
    func classes() {
        let bird = Bench().bird
        #expect(type(of: bird.subscribe("a")) == Channel.self)
        #expect(type(of: bird.subscribe("private-a")) == PrivateChannel.self)
        #expect(type(of: bird.subscribe("presence-a")) == PresenceChannel.self)
        #expect(type(of: bird.subscribe("private-encrypted-a")) == EncryptedChannel.self)
        #expect(bird.subscribe("a") === bird.subscribe("a"))
        #expect(bird.channel("a") === bird.subscribe("a"))
        #expect(bird.channel("b") == nil)
    }

    @Test("100 calls before connected send one subscribe frame")
    func idempotent() {
        let bench = Bench()
        for _ in 0..<100 { bench.bird.subscribe("c") }
        let socket = bench.connected()
        #expect(socket.sent.filter { $0.contains("bird:subscribe") }.count == 1)
    }

    @Test("Events reach global and named handlers decoded; the library's own come between in wire order")
    func events() {
        let bench = Bench()
        let heard = Heard<String>()
        let channel = bench.bird.subscribe("c")
        channel.bindGlobal { name, _ in heard.append("* \(name)") }
        channel.bind("e") { heard.append("e \(described($0))") }
        channel.bind(BirdProtocol.Event.connectionCount) { data in
            heard.append("count \(described((data as? [String: Any])?["connection_count"] as? Int))")
        }
        let socket = bench.connected()
        socket.accepts("c")
        #expect(channel.subscribed)
        socket.publishes("e", on: "c", #""{\"a\":[1,\"x\",null]}""#)
        socket.says(
            #"{"event":"bird_internal:connection_count","channel":"c","data":{"connection_count":3}}"#)
        socket.says(#"{"event":"bird_internal:unheard_of","channel":"c","data":{}}"#)
        socket.publishes("e", on: "other", "1")
        bench.settle()
        #expect(heard.all[0] == "* bird:subscription_succeeded")
        #expect(heard.all[1] == "* e")
        #expect(heard.all[2].hasPrefix("e "))
        #expect(heard.all[3...] == ["* bird:connection_count", "count 3"])
    }

    @Test("J7: two handlers, five reconnects: each runs once per event, one subscribe per connection")
    func reconnects() {
        let bench = Bench()
        let (first, second) = (Heard<String>(), Heard<String>())
        let channel = bench.bird.subscribe("c")
        channel.bind("e", first.handler)
        channel.bind("e", second.handler)
        for round in 1...6 {
            let socket = bench.connected("\(round).1")
            socket.accepts("c")
            socket.publishes("e", on: "c", "\(round)")
            bench.bird.subscribe("c")
            #expect(socket.sent.filter { $0.contains("bird:subscribe") }.count == 1)
            if round < 6 { socket.ends(1006) }
            #expect(channel.subscribed == (round == 6))
        }
        bench.settle()
        #expect(first.all == ["1", "2", "3", "4", "5", "6"])
        #expect(second.all == first.all)
    }

    @Test("Unsubscribing inside a handler silences everything that waits for that channel")
    func unsubscribe() {
        let bench = Bench()
        let socket = bench.connected()
        let channel = bench.bird.subscribe("c")
        socket.accepts("c")
        let heard = Heard<String>()
        channel.bind("e") { [weak bird = bench.bird] data in
            heard.append(described(data))
            bird?.unsubscribe("c")
        }
        bench.queue.sync {
            for number in 1...5 { socket.publishes("e", on: "c", "\(number)") }
        }
        bench.settle()
        #expect(heard.all == ["1"])
        #expect(bench.bird.channel("c") == nil)
        #expect(!channel.subscribed)
        let next = bench.bird.subscribe("c")
        #expect(next !== channel)
        channel.bind("e", heard.handler)
        socket.accepts("c")
        socket.publishes("e", on: "c", "9")
        bench.settle()
        #expect(heard.all == ["1"])
    }

    @Test("No event is delivered after disconnect() returned on the delivery queue")
    func disconnectSilences() {
        let bench = Bench()
        let socket = bench.connected()
        let heard = Heard<String>()
        bench.bird.subscribe("c").bind("e") { [weak bird = bench.bird] data in
            heard.append(described(data))
            bird?.disconnect()
        }
        bench.queue.sync {
            for number in 1...5 { socket.publishes("e", on: "c", "\(number)") }
        }
        bench.settle()
        #expect(heard.all == ["1"])
    }

    @Test("A handler bound inside an earlier handler hears the event that follows it")
    func boundInTime() {
        let bench = Bench()
        let socket = bench.connected()
        let heard = Heard<String>()
        let channel = bench.bird.subscribe("c")
        channel.bind(BirdProtocol.Event.subscriptionSucceeded) { [weak channel] _ in
            channel?.bind("e", heard.handler)
        }
        bench.queue.sync {
            socket.accepts("c")
            socket.publishes("e", on: "c", "1")
        }
        bench.settle()
        #expect(heard.all == ["1"])
    }

    @Test("Typed handlers get their type; what does not fit is an error, not a call")
    func typed() {
        struct Price: Decodable, Sendable { var amount: Int64 }
        let bench = Bench()
        let (heard, errors) = (Heard<Int64>(), Heard<String>())
        bench.bird.onError { errors.append($0.message) }
        let channel = bench.bird.subscribe("c")
        channel.bind("price", as: Price.self) { heard.append($0.amount) }
        let socket = bench.connected()
        socket.publishes("price", on: "c", #""{\"amount\":9007199254740993}""#)
        socket.publishes("price", on: "c", #""{\"amount\":\"x\"}""#)
        bench.settle()
        #expect(heard.all == [9_007_199_254_740_993])
        #expect(errors.count == 1)
        #expect(errors.all.first?.contains("price on c") == true)
    }

    @Test("Raw handlers get the bytes as they stood on the wire")
    func raw() {
        let bench = Bench()
        let heard = Heard<String>()
        let channel = bench.bird.subscribe("c")
        channel.bindData("e") { heard.append(String(decoding: $0.rawBytes, as: UTF8.self)) }
        channel.bindGlobalData { heard.append("\($0) \($1.text)") }
        bench.connected().publishes("e", on: "c", #""{\"a\": 1}""#)
        bench.settle()
        #expect(heard.all == [#"e {"a": 1}"#, #""{\"a\": 1}""#])
    }

    @Test("The sequence of a channel has its application events, and counts what it dropped")
    func sequence() async {
        let bench = Bench()
        let socket = bench.connected()
        let events = bench.bird.subscribe("c").events(bufferingUpTo: 2)
        let everything = bench.bird.subscribe("c").events(includingLifecycle: true)
        socket.accepts("c")
        for number in 1...3 { socket.publishes("e", on: "c", "\(number)") }
        #expect(events.droppedCount == 1)
        bench.bird.unsubscribe("c")
        var read: [String] = []
        for await event in events { read.append("\(event.name) \(event.data.text)") }
        #expect(read == ["e 1", "e 2"])
        read = []
        for await event in everything { read.append(event.name) }
        #expect(read == ["bird:subscription_succeeded", "e", "e", "e"])
    }

    @Test("trigger checks the name, the channel, the data, and only then whether it is subscribed")
    func trigger() throws {
        let bench = Bench(
            {
                var options = BirdRealtimeOptions(appKey: "key", region: "us1")
                options.authorizer = { _, _ in ChannelAuth(auth: "a") }
                return options
            }())
        let bird = bench.bird
        let channel = bird.subscribe("private-a")
        #expect(throws: RealtimeError.self) { try channel.trigger("x", data: nil) }
        #expect(throws: RealtimeError.self) { try bird.subscribe("a").trigger("client-x", data: 1) }
        #expect(throws: RealtimeError.self) {
            try bird.subscribe("private-encrypted-a").trigger("client-x", data: 1)
        }
        #expect(throws: RealtimeError.self) { try channel.trigger("client-x", data: Date()) }
        #expect(try channel.trigger("client-x", data: ["a": 1]) == false)
    }

    @Test("A triggered event carries its data as a JSON value, from values and from encodables")
    func triggered() async throws {
        var options = BirdRealtimeOptions(appKey: "key", region: "us1")
        options.authorizer = { _, _ in ChannelAuth(auth: "a") }
        let bench = Bench(options)
        let channel = bench.bird.subscribe("private-a")
        let socket = bench.connected()
        await until { socket.sent.contains { $0.contains("bird:subscribe") } }
        socket.accepts("private-a")
        #expect(try channel.trigger("client-x", data: ["a": 1]))
        #expect(try channel.trigger("client-y", encoding: [1, 2]))
        #expect(
            socket.sent.suffix(2) == [
                #"{"event":"client-x","channel":"private-a","data":{"a":1}}"#,
                #"{"event":"client-y","channel":"private-a","data":[1,2]}"#,
            ])
    }

    @Test("Presence members are current in the handler, follow joins and leaves, and are gone after a drop")
    func presence() async {
        var options = BirdRealtimeOptions(appKey: "key", region: "us1")
        options.authorizer = { _, _ in ChannelAuth(auth: "a", memberData: #"{"member_id":"A"}"#) }
        let bench = Bench(options)
        guard let channel = bench.bird.subscribe("presence-a") as? PresenceChannel else {
            Issue.record("not a presence channel")
            return
        }
        let heard = Heard<String>()
        channel.bind(BirdProtocol.Event.subscriptionSucceeded) { [weak channel] data in
            let keys = (data as? [String: Member])?.keys.sorted() ?? []
            heard.append("ok \(keys) \(channel?.members.keys.sorted() ?? []) \(channel?.myId ?? "")")
        }
        channel.bind(BirdProtocol.Event.memberAdded) { heard.append("+\(($0 as? Member)?.memberId ?? "?")") }
        channel.bind(BirdProtocol.Event.memberRemoved) {
            heard.append("-\(($0 as? Member)?.memberId ?? "?")")
        }
        for id in ["1.1", "2.2"] {
            let socket = bench.connected(id)
            await until { socket.sent.contains { $0.contains("bird:subscribe") } }
            socket.accepts(
                "presence-a", #"{"presence":{"ids":["A","B"],"hash":{"A":null,"B":{"n":1}},"count":2}}"#)
            bench.settle()
            socket.says(
                #"{"event":"bird_internal:member_added","channel":"presence-a","data":{"member_id":7}}"#)
            socket.says(
                #"{"event":"bird_internal:member_removed","channel":"presence-a","data":{"member_id":"B"}}"#)
            #expect(channel.members.keys.sorted() == ["7", "A"])
            socket.ends(1006)
            #expect(channel.members.isEmpty && channel.myId == nil)
        }
        bench.settle()
        #expect(
            heard.all == [
                #"ok ["A", "B"] ["A", "B"] A"#, "+7", "-B", #"ok ["A", "B"] ["A", "B"] A"#, "+7", "-B",
            ])
    }

    @Test("A failing authorizer reaches its channel alone, with the message of the program's own error")
    func authorizerFails() async {
        struct Mine: BirdRealtimeError { var message = "not today" }
        struct Plain: Error {}
        var options = BirdRealtimeOptions(appKey: "key", region: "us1")
        options.authorizer = { name, _ in
            switch name {
            case "private-mine": throw Mine()
            case "private-plain": throw Plain()
            case "private-http": throw RealtimeAuthError(endpoint: "http://x/", status: 403, message: "no")
            default: return ChannelAuth(auth: "a")
            }
        }
        let bench = Bench(options)
        let heard = Heard<String>()
        for name in ["mine", "plain", "http"] {
            bench.bird.subscribe("private-\(name)").bind(BirdProtocol.Event.subscriptionError) { data in
                let payload = data as? [String: Any]
                heard.append(
                    "\(name) \(payload?["error"] as? String ?? "") \(payload?["endpoint"] as? String ?? "") "
                        + "\(payload?["status"] as? Int ?? -1)")
            }
        }
        bench.bird.subscribe("private-fine")
        let socket = bench.connected()
        await until { heard.count == 3 && socket.sent.contains { $0.contains("private-fine") } }
        #expect(heard.all.sorted() == ["http no http://x/ 403", "mine not today  -1", "plain Plain()  -1"])
    }

    @Test("After its client is gone a channel is dead, and no call traps")
    func orphan() throws {
        let channel: Channel
        let presence: Channel
        do {
            let bench = Bench()
            channel = bench.bird.subscribe("private-a")
            presence = bench.bird.subscribe("presence-a")
        }
        #expect(try channel.trigger("client-x", data: 1) == false)
        #expect(throws: RealtimeError.self) { try channel.trigger("x", data: 1) }
        #expect(!channel.subscribed)
        #expect((presence as? PresenceChannel)?.members.isEmpty == true)
        #expect((presence as? PresenceChannel)?.myId == nil)
        channel.bind("e") { _ in }
        channel.unbindAll()
    }
}
