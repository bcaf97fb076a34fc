import BirdRealtimeTestKit
import Dispatch
import Testing

@testable import BirdRealtime

/// Connections over real sockets, against the loopback edge.
@Suite(.timeLimit(.minutes(2))) struct EdgeTests {
    @Test(
        "A client connects, subscribes, hears an event and says goodbye with 1000", arguments: [false, true])
    func round(isSecure: Bool) async throws {
        let site = try await Site { $0.isSecure = isSecure }
        let bird = site.client()
        let heard = Heard<String>()
        let channel = bird.subscribe("news")
        channel.bind("published") { heard.append(described(($0 as? [String: Any])?["id"] as? Int)) }
        await until { channel.subscribed }
        await site.edge.publish(channel: "news", event: "published", data: #"{"id":7}"#)
        await until { heard.count == 1 }
        #expect(heard.all == ["7"])
        await bird.disconnectAndWait()
        #expect(bird.connectionState == .disconnected)
        try await site.edge.waitFor { log in
            log.controlFrames(.received).contains(.close(code: 1000, reason: ""))
                && log.end(ofConnection: 1) != nil
        }
        #expect(site.edge.log.violations.isEmpty)
        await site.edge.stop()
    }

    @Test(
        "The upgrade request has the key, the protocol, the client and its version, and the headers of the options"
    )
    func upgrade() async throws {
        let site = try await Site()
        let bird = site.client { $0.headers = [("X-Trace", "abc")] }
        await until { bird.connectionState == .connected }
        let request = try #require(
            site.edge.log.entries.lazy.compactMap {
                if case .upgraded(_, let request) = $0 { request } else { nil }
            }.first)
        #expect(
            request.target
                == "/app/\(site.edge.appKey)?protocol=7&client=realtime-swift&version=\(BirdRealtime.version)"
        )
        #expect(request.headers.contains { $0.name.lowercased() == "x-trace" && $0.value == "abc" })
        bird.disconnect()
        await site.edge.stop()
    }

    @Test("permessage-deflate may be offered")
    func deflate() async throws {
        let site = try await Site()
        let bird = site.client { $0.permessageDeflate = .init() }
        let channel = bird.subscribe("c")
        let heard = Heard<Int>()
        channel.bindData("e") { heard.append($0.text.utf8.count) }
        await until { channel.subscribed }
        let text = "\"" + String(repeating: "a", count: 5000) + "\""
        await site.edge.publish(channel: "c", event: "e", data: text)
        await until { heard.count == 1 }
        #expect(heard.all == [5002])
        bird.disconnect()
        await site.edge.stop()
    }

    @Test("A refused upgrade is reported with host, phase and status, and retried")
    func refused() async throws {
        let site = try await Site()
        site.edge.refuseNext(with: .status(403))
        let errors = Heard<String>()
        let bird = site.client { $0.autoConnect = false }
        bird.onError { errors.append($0.message) }
        bird.connect()
        await until { bird.connectionState == .connected && errors.count == 1 }
        #expect(errors.all[0].contains("403") && errors.all[0].contains(site.edge.wsHost))
        bird.disconnect()
        await site.edge.stop()
    }

    @Test("An unknown app key fails for good, with the service's error told once")
    func unknownKey() async throws {
        let site = try await Site()
        let errors = Heard<Int>()
        let bird = site.client {
            $0.appKey = "other"
            $0.autoConnect = false
        }
        bird.onError { errors.append($0.code ?? 0) }
        bird.connect()
        await until { bird.connectionState == .failed }
        await until { errors.count >= 1 }
        site.queue.sync {}
        #expect(errors.all == [4001])
        await site.edge.stop()
    }

    @Test("A service that cannot be trusted is refused before anything is said")
    func untrusted() async throws {
        let site = try await Site { $0.isSecure = true }
        let errors = Heard<String>()
        let bird = site.client {
            $0.tls = TLSOptions()
            $0.autoConnect = false
        }
        bird.onError { errors.append($0.message) }
        bird.connect()
        await until { errors.count >= 1 }
        #expect(errors.all[0].contains("TLS"))
        #expect(site.edge.log.upgradedConnections == 0)
        bird.disconnect()
        await site.edge.stop()
    }

    @Test("H1: silence leads to a ping and then to a new connection, on a clock that the test moves")
    func silence() async throws {
        let site = try await Site()
        site.edge.plan(.afterHandshake(.ignorePings), forConnection: 1)
        let clock = ManualClock()
        let bird = site.client { $0.clock = clock }
        await until { bird.connectionState == .connected }
        let id = bird.connectionId
        try await site.edge.waitFor { !$0.entries.isEmpty && $0.upgradedConnections == 1 }
        clock.advance(by: .seconds(119))
        #expect(site.edge.log.received("bird:ping").isEmpty)
        clock.advance(by: .seconds(2))
        try await site.edge.waitFor { $0.received("bird:ping").count == 1 }
        clock.advance(by: .seconds(31))
        await until { bird.connectionState == .connected && bird.connectionId != id }
        #expect(bird.lastDisconnect?.kind == .stale)
        // The next connection answers.
        clock.advance(by: .seconds(121))
        await until { bird.lastPingRoundTrip != nil }
        #expect(bird.connectionState == .connected)
        bird.disconnect()
        await site.edge.stop()
    }

    @Test("Dropping the last reference closes the socket")
    func dropped() async throws {
        let site = try await Site()
        weak var trace: BirdRealtime?
        do {
            let bird = site.client()
            trace = bird
            let channel = bird.subscribe("c")
            await until { channel.subscribed }
        }
        try await site.edge.waitFor { $0.end(ofConnection: 1) != nil }
        #expect(trace == nil)
        await site.edge.stop()
    }

    @Test("M1: eight tasks call everything while the edge drops the connection again and again")
    func storm() async throws {
        let site = try await Site()
        let bird = site.client()
        let heard = Heard<String>()
        let dropper = Task {
            while !Task.isCancelled {
                await site.edge.inject(.reset)
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        let name = ["a", "private-b", "presence-c", "private-d"][(number + round) % 4]
                        let channel = bird.subscribe(name)
                        let token = channel.bind("e", heard.handler)
                        _ = try? channel.trigger("client-x", data: [round])
                        channel.unbind("e", token)
                        if round % 7 == number % 7 { bird.unsubscribe(name) }
                        try? await Task.sleep(for: .milliseconds(1))
                    }
                }
            }
        }
        dropper.cancel()
        _ = await dropper.result
        // It is still a working client.
        let channel = bird.subscribe("last")
        await until { channel.subscribed }
        await bird.disconnectAndWait()
        await site.edge.stop()
    }

    @Test("M4: many clients come and go without leaving a descriptor")
    func comeAndGo() async throws {
        let site = try await Site()
        for _ in 0..<30 {
            let bird = site.client()
            let channel = bird.subscribe("c")
            await until { channel.subscribed }
            bird.disconnect()
        }
        try await site.edge.waitFor { log in (1...30).allSatisfy { log.end(ofConnection: $0) != nil } }
        await site.edge.stop()
    }
}
