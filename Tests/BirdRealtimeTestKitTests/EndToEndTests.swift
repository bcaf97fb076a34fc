import BirdRealtime
import BirdRealtimeTestKit
import Dispatch
import Foundation
import Testing

@Suite("A client against the edge", .timeLimit(.minutes(2)))
struct EndToEndTests {
    private let queue = DispatchQueue(label: "handlers")

    private func edge(_ change: (inout LoopbackEdge.Configuration) -> Void = { _ in }) async throws
        -> LoopbackEdge
    {
        var configuration = LoopbackEdge.Configuration()
        change(&configuration)
        let edge = LoopbackEdge(configuration)
        try await edge.start()
        return edge
    }

    /// The next payload of an event, as a handler gets it, in words.
    private func next(_ event: String, on channel: Channel) -> AsyncStream<String> {
        AsyncStream { continuation in
            channel.bind(event) { continuation.yield($0.map { String(describing: $0) } ?? "nil") }
        }
    }

    @Test("an event reaches a private channel that the backend signed", arguments: [false, true])
    func privateChannel(_ isSecure: Bool) async throws {
        let edge = try await edge { $0.isSecure = isSecure }
        let client = BirdRealtime(options: edge.options(), deliveryQueue: queue)
        let events = next("created", on: client.subscribe("private-orders"))
        try await edge.waitFor {
            $0.sent("bird_internal:subscription_succeeded", channel: "private-orders").count == 1
        }
        await edge.publish(channel: "private-orders", event: "created", data: #""seven""#)
        #expect(await events.first { _ in true } == "seven")
        #expect(edge.log.violations.isEmpty)
        client.disconnect()
        try await edge.waitFor { $0.end(ofConnection: 1) == .closed(sent: 1000, received: 1000) }
        await edge.stop()
    }

    @Test("members meet on a presence channel, and exchange client events")
    func presence() async throws {
        let edge = try await edge()
        func client(_ id: String) -> BirdRealtime {
            var options = edge.options()
            options.authHeaders = ["x-member-id": id]
            return BirdRealtime(options: options, deliveryQueue: queue)
        }
        let ada = client("ada")
        let room = try #require(ada.subscribe("presence-room") as? PresenceChannel)
        let joined = next(BirdProtocol.Event.memberAdded, on: room)
        let waved = next("client-wave", on: room)
        try await edge.waitFor { $0.sent("bird_internal:subscription_succeeded").count == 1 }
        let grace = client("grace")
        let other = try #require(grace.subscribe("presence-room") as? PresenceChannel)
        let succeeded = next(BirdProtocol.Event.subscriptionSucceeded, on: other)
        _ = await joined.first { _ in true }
        _ = await succeeded.first { _ in true }
        #expect(room.members.keys.sorted() == ["ada", "grace"])
        #expect(other.members.keys.sorted() == ["ada", "grace"])
        #expect(other.myId == "grace")
        #expect(try other.trigger("client-wave", data: "hello"))
        #expect(await waved.first { _ in true } == "hello")
        #expect(edge.log.violations.isEmpty)
        await edge.stop()
    }

    @Test("a member signs in and hears what is for the member alone")
    func signin() async throws {
        let edge = try await edge {
            $0.member = { _ in LoopbackEdge.Member(id: "ada", watchlist: ["grace"]) }
        }
        let client = BirdRealtime(options: edge.options(), deliveryQueue: queue)
        let heard = AsyncStream<String> { continuation in
            client.member.bind("hello") { continuation.yield($0.map { String(describing: $0) } ?? "nil") }
        }
        let member = try await client.signin()
        #expect(member.memberId == "ada")
        try await edge.waitFor {
            $0.sent("bird_internal:subscription_succeeded", channel: "#server-to-user-ada").count == 1
        }
        #expect(await edge.publish(toMember: "ada", event: "hello", data: #""you""#) == 1)
        #expect(await heard.first { _ in true } == "you")
        #expect(edge.log.violations.isEmpty)
        await edge.stop()
    }

    @Test("a client reconnects and subscribes again when the manual clock has passed its wait")
    func reconnect() async throws {
        let edge = try await edge()
        let clock = ManualClock()
        var options = edge.options()
        options.clock = clock
        let client = BirdRealtime(options: options, deliveryQueue: queue)
        // A retry's wait, as the client announces it, has passed at once.
        client.onConnectingIn { seconds in clock.advance(by: .seconds(seconds)) }
        client.subscribe("private-orders")
        for round in 1...3 {
            try await edge.waitFor { $0.sent("bird_internal:subscription_succeeded", on: round).count == 1 }
            await edge.inject(.reset)
        }
        try await edge.waitFor { $0.sent("bird_internal:subscription_succeeded", on: 4).count == 1 }
        #expect(edge.log.violations.isEmpty)
        let signed = edge.log.authExchanges(channel: "private-orders").map(\.request.connectionID)
        #expect(signed == ["1.1", "2.2", "3.3", "4.4"])
        await edge.stop()
    }

    @Test("a client finds a dead connection when the manual clock has passed its silence")
    func silence() async throws {
        let edge = try await edge()
        edge.planNext(.afterHandshake(.ignorePings))
        let clock = ManualClock()
        var options = edge.options()
        options.clock = clock
        options.autoConnect = false
        let client = BirdRealtime(options: options, deliveryQueue: queue)
        let states = client.states()
        client.connect()
        for await change in states where change.current == .connected { break }
        // The handshake says 120 s; the answer to the ping has 30 s more.
        clock.advance(by: .seconds(120))
        try await edge.waitFor { $0.received("bird:ping").count == 1 }
        try await clock.waitForTimers { $0 == [.seconds(150)] }
        clock.advance(by: .seconds(30))
        try await edge.waitFor { $0.sent("bird:connection_established").count == 2 }
        await edge.stop()
    }
}
