import BirdRealtime
import BirdRealtimeTestKit
import Dispatch
import Foundation
import Testing

/// Programs of users of the official client, run against the loopback edge.
@Suite(.timeLimit(.minutes(2))) struct ProgramTests {
    /// Polls on the main actor, so that deliveries to the main queue get their turn.
    @MainActor func until(_ condition: @MainActor () -> Bool) async {
        while !condition(), !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    func edge(
        _ change: (inout LoopbackEdge.Configuration) -> Void = { _ in }
    ) async throws -> LoopbackEdge {
        var configuration = LoopbackEdge.Configuration()
        change(&configuration)
        let edge = LoopbackEdge(configuration)
        try await edge.start()
        return edge
    }

    func options(_ edge: LoopbackEdge, member: String = "ann") -> BirdRealtimeOptions {
        BirdRealtimeOptions(
            appKey: edge.appKey, wsHost: edge.wsHost, authEndpoint: edge.authEndpoint,
            authHeaders: ["x-member-id": member], memberAuthEndpoint: edge.memberAuthEndpoint,
            allowInsecure: true)
    }

    @Test("A chat on the main actor with the default delivery queue") @MainActor
    func chat() async throws {
        let edge = try await edge()
        let ann = ChatModel(options: options(edge, member: "ann"))
        ann.join("room")
        await until { ann.people == ["ann"] }
        #expect(ann.me == "ann" && ann.isConnected)
        #expect(ann.states.last == .connected)
        let bob = ChatModel(options: options(edge, member: "bob"))
        bob.join("room")
        await until { ann.people == ["ann", "bob"] && bob.people == ["ann", "bob"] }
        #expect(try bob.say("hello", in: "room"))
        await until { ann.lines == ["hello"] }
        #expect(bob.lines.isEmpty)
        bob.leave("room")
        await until { ann.people == ["ann"] }
        ann.stop()
        await until { ann.states.last == .disconnected }
        ann.start()
        await until { ann.states.last == .connected && ann.people == ["ann"] }
        #expect(ann.errors.isEmpty)
        ann.stop()
        bob.stop()
        await edge.stop()
    }

    @Test("An actor with a queue of its own, and custom authorizers")
    func actorProgram() async throws {
        let edge = try await edge()
        var options = options(edge)
        options.authEndpoint = nil
        options.authorizer = { channel, _ in
            if channel == "private-closed" { throw ShopError.closed }
            throw RealtimeAuthError(endpoint: "mine", status: 418, message: "no tea")
        }
        options.memberAuthEndpoint = nil
        options.memberAuthorizer = { _ in throw ShopError.closed }
        let bird = BirdRealtime(options: options, deliveryQueue: DispatchQueue(label: "program"))
        let session = Session(bird)
        let (stream, events) = AsyncStream.makeStream(of: String.self)
        let channel = await session.listen("news") { data in
            events.yield("\((data as? [String: Any])?["n"] as? Int ?? -1)")
        }
        for name in ["private-closed", "private-tea"] {
            bird.subscribe(name).bind(BirdProtocol.Event.subscriptionError) { data in
                let payload = data as? [String: Any]
                events.yield("\(payload?["error"] as? String ?? "") \(payload?["status"] as? Int ?? 0)")
            }
        }
        var reader = stream.makeAsyncIterator()
        let failures = [await reader.next(), await reader.next()].compactMap { $0 }.sorted()
        #expect(failures == ["no tea 418", "the shop is closed 0"])
        await until { channel.subscribed }
        await edge.publish(channel: "news", event: "e", data: #"{"n":1}"#)
        #expect(await reader.next() == "1")
        await session.silence(channel)
        do {
            try await bird.signin()
            Issue.record("signed in")
        } catch let error as ShopError {
            #expect(error.message == "the shop is closed")
        }
        bird.disconnect()
        await edge.stop()
    }

    @Test("Signing in, hearing what is meant for the member, and an error that names its code")
    func member() async throws {
        let edge = try await edge()
        let bird = BirdRealtime(options: options(edge), deliveryQueue: DispatchQueue(label: "program"))
        let (stream, events) = AsyncStream.makeStream(of: String.self)
        bird.member.bind("note") { data in events.yield("\(data as? String ?? "?")") }
        let member = try await bird.signin()
        #expect(member.memberId == "ann" && bird.signedInMember?.memberId == "ann")
        try await edge.waitFor { log in
            !log.sent("bird_internal:subscription_succeeded", channel: "#server-to-user-ann").isEmpty
        }
        await edge.publish(toMember: "ann", event: "note", data: "hi")
        var reader = stream.makeAsyncIterator()
        #expect(await reader.next() == "hi")
        bird.onError { error in events.yield("\(error.code ?? 0) \(error.localizedDescription)") }
        await edge.inject(.error(code: 4301, message: "slow down"))
        #expect(await reader.next() == "4301 4301: slow down")
        bird.disconnect()
        #expect(bird.connectionState == .disconnected && bird.signedInMember == nil)
        await edge.stop()
    }
}
