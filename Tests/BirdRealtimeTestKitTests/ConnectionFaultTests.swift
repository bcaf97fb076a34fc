import SystemIO
import Testing

@testable import BirdRealtimeTestKit

@Suite("The edge on sockets: faults of connections", .timeLimit(.minutes(2)))
struct ConnectionFaultTests {
    @Test(
        "a close frame with any code, from all or one of the connections",
        arguments: [1000, 1012, 4001, 4299, 1005, 65535])
    func close(_ code: UInt16) async throws {
        try await withEdge { edge in
            let first = try await RawClient.established(edge)
            let second = try await RawClient.established(edge)
            #expect(await edge.inject(.close(code: code, reason: "bye"), into: .connectionID("2.2")) == 1)
            #expect(try await second.frame() == .close(code, "bye"))
            #expect(await edge.inject(.close(code: nil), into: .connection(1)) == 1)
            #expect(try await first.frame() == .close(nil, ""))
            try await second.send(close: 1000)
            #expect(try await second.frame() == nil)
            let end = try await edge.waitForValue { $0.end(ofConnection: 2) }
            #expect(end == .closed(sent: code, received: 1000))
            #expect(await edge.inject(.reset, into: .connection(2)) == 0)
        }
    }

    @Test("a close frame planned for the second connection")
    func plannedClose() async throws {
        try await withEdge { edge in
            edge.plan(.afterHandshake(.close(code: 4100, reason: "later")), forConnection: 2)
            let first = try await RawClient.established(edge)
            let second = try await RawClient.established(edge)
            #expect(try await second.frame() == .close(4100, "later"))
            try await first.send(#"{"event":"bird:ping","data":{}}"#)
            #expect(try await first.text() == EdgeFrame.pong)
        }
    }

    @Test("a client that answers a close frame with the end of its stream")
    func closeWithoutAnswer() async throws {
        try await withEdge { edge in
            edge.planNext(.afterHandshake(.close(code: 4200)))
            let client = try await RawClient.established(edge)
            await client.finish()
            let end = try await edge.waitForValue { $0.end(ofConnection: 1) }
            #expect(end == .closed(sent: 4200, received: nil))
        }
    }

    @Test("a reset")
    func reset() async throws {
        try await withEdge { edge in
            let client = try await RawClient.established(edge)
            await edge.inject(.reset)
            await #expect { _ = try await client.frame() } throws: { ($0 as? SystemError)?.isReset == true }
            #expect(edge.log.end(ofConnection: 1) == .dropped)
        }
    }

    @Test("a FIN without a close frame")
    func finish() async throws {
        try await withEdge { edge in
            let client = try await RawClient.established(edge)
            await edge.inject(.finish)
            #expect(try await client.frame() == nil)
            try await client.send(#"{"event":"bird:ping","data":{}}"#)
            try await edge.waitFor { $0.received("bird:ping").count == 1 }
        }
    }

    @Test("a black hole neither reads nor writes, until it is resumed")
    func blackHole() async throws {
        try await withEdge { edge in
            let client = try await RawClient.established(edge)
            await edge.inject(.blackHole)
            try await client.send(#"{"event":"bird:ping","data":{}}"#)
            await edge.inject(.ping)
            // Another connection makes a round trip in the meantime: the held one would have been read by then.
            let other = try await RawClient.established(edge)
            try await other.send(opcode: 9, [])
            #expect(try await other.frame() == .pong(""))
            #expect(edge.log.received(on: 1).isEmpty)
            await edge.inject(.resume)
            #expect(try await client.text() == EdgeFrame.ping)
            #expect(try await client.text() == EdgeFrame.pong)
        }
    }

    @Test("pings of either kind stay without an answer, everything else works")
    func ignoredPings() async throws {
        try await withEdge { edge in
            edge.planAll(.afterHandshake(.ignorePings))
            let client = try await RawClient.established(edge)
            try await client.send(#"{"event":"bird:ping","data":{}}"#)
            try await client.send(opcode: 9, [])
            try await client.send(#"{"event":"bird:subscribe","data":{"channel":"news"}}"#)
            #expect(try await client.event().name == "bird_internal:subscription_succeeded")
        }
    }

    @Test("subscriptions stay without an answer")
    func ignoredSubscriptions() async throws {
        try await withEdge { edge in
            edge.planNext(.afterHandshake(.ignoreSubscriptions))
            let client = try await RawClient.established(edge)
            try await client.send(#"{"event":"bird:subscribe","data":{"channel":"news"}}"#)
            try await client.send(#"{"event":"bird:ping","data":{}}"#)
            #expect(try await client.text() == EdgeFrame.pong)
            #expect(edge.log.received("bird:subscribe", channel: "news").count == 1)
            #expect(await edge.connections().map(\.channels) == [[]])
        }
    }

    @Test("a close frame without an answer, on a socket that stays open")
    func ignoredClose() async throws {
        try await withEdge { edge in
            let client = try await RawClient.established(edge)
            await edge.inject(.ignoreClose)
            try await client.send(close: 1000)
            try await edge.waitFor { $0.controlFrames(.received) == [.close(code: 1000, reason: "")] }
            #expect(await edge.inject(.bytes([0x81, 1, 0x61])) == 1)
            #expect(try await client.text() == "a")
            await client.finish()
            #expect(try await edge.waitForValue { $0.end(ofConnection: 1) } == .endOfStream)
        }
    }

    @Test("the handshake event can be missing, held, repeated and something else")
    func handshakeEvents() async throws {
        try await withEdge { edge in
            edge.planNext(.handshake(.missing))
            let missing = try await RawClient.open(edge)
            try await missing.send(opcode: 9, [])
            #expect(try await missing.frame() == .pong(""))

            edge.planNext(.handshake(.held))
            let held = try await RawClient.open(edge)
            try await held.send(opcode: 9, [])
            #expect(try await held.frame() == .pong(""))
            #expect(await edge.releaseHandshakes() == 1)
            #expect(try await held.event().data?.contains("2.2") == true)

            edge.planNext(.handshake(.late(.milliseconds(1))))
            let late = try await RawClient.open(edge)
            #expect(try await late.event().data?.contains("3.3") == true)

            edge.planNext(.handshake(.repeated(3)))
            let repeated = try await RawClient.open(edge)
            for _ in 0..<3 { #expect(try await repeated.event().data?.contains("4.4") == true) }

            edge.planNext(.handshake(.text("no json")))
            let malformed = try await RawClient.open(edge)
            #expect(try await malformed.text() == "no json")
        }
    }

    @Test("garbage, texts, errors and pings go out as they are given")
    func injected() async throws {
        try await withEdge { edge in
            let client = try await RawClient.established(edge)
            await edge.inject(.text("{bad"))
            await edge.inject(.error(code: 4004, message: "no"))
            await edge.inject(.error(code: nil, message: nil))
            await edge.inject(.bytes([0x83, 0x00]))
            #expect(try await client.text() == "{bad")
            #expect(try await client.text() == #"{"event":"bird:error","data":{"code":4004,"message":"no"}}"#)
            #expect(try await client.text() == #"{"event":"bird:error","data":{}}"#)
            #expect(try await client.frame() == .other(0x83))
        }
    }

    @Test("bytes in pieces and drips make the same stream")
    func shapes() async throws {
        try await withEdge { edge in
            for shape in [LoopbackEdge.WriteShape.pieces(1), .drip(7, every: .microseconds(50))] {
                var plan = LoopbackEdge.ConnectionPlan()
                plan.writes = shape
                edge.planNext(plan)
                let client = try await RawClient.established(edge)
                let data = String(repeating: "x", count: 500)
                await edge.inject(.text(data))
                #expect(try await client.text() == data)
            }
        }
    }

    @Test("glued: the answer to the upgrade, the handshake event and an event in one write")
    func glued() async throws {
        try await withEdge { edge in
            var plan = LoopbackEdge.ConnectionPlan.afterHandshake(.text("hi"), .close(code: 4001))
            plan.writes = .glued
            edge.planNext(plan)
            let client = try await RawClient(port: edge.port)
            let request = await client.request(target: "/app/\(edge.appKey)?protocol=7")
            try await client.send(bytes: Array(request.utf8))
            let bytes = try await client.oneRead()
            #expect(String(decoding: bytes.prefix(13), as: UTF8.self) == "HTTP/1.1 101 ")
            #expect(bytes.suffix(8) == [0x81, 2, 0x68, 0x69, 0x88, 2, 0x0F, 0xA1])
        }
    }

    @Test("frames that a client sends right behind its request are taken")
    func gluedRequest() async throws {
        try await withEdge { edge in
            let client = try await RawClient(port: edge.port)
            let request = await client.request(target: "/app/\(edge.appKey)?protocol=7")
            try await client.send(bytes: Array(request.utf8) + [0x89, 0x80, 0, 0, 0, 0])
            _ = try await client.head()
            _ = try await client.text()
            #expect(try await client.frame() == .pong(""))
        }
    }

    @Test("connections are refused with a reset, and the next ones are not")
    func refusedByReset() async throws {
        try await withEdge { edge in
            edge.refuseNext(2, with: .reset)
            for _ in 0..<2 {
                await #expect(throws: (any Error).self) { _ = try await RawClient.established(edge) }
            }
            _ = try await RawClient.established(edge)
            #expect(edge.log.acceptedConnections == 3)
            #expect(edge.log.upgradedConnections == 1)
        }
    }

    @Test("connections are refused with an HTTP answer", arguments: [302, 401, 403, 429, 500, 503])
    func refusedByStatus(_ status: Int) async throws {
        try await withEdge { edge in
            edge.refuseNext(with: .status(status, headers: [("Retry-After", "7")], body: "later"))
            let client = try await RawClient(port: edge.port)
            let head = try await client.upgrade(target: "/app/\(edge.appKey)?protocol=7")
            #expect(head.hasPrefix("HTTP/1.1 \(status) "))
            #expect(head.contains("\r\nRetry-After: 7\r\n"))
            #expect(try await client.rest() == Array("later".utf8))
            _ = try await RawClient.established(edge)
        }
    }

    @Test("connections are refused with any bytes, and with silence")
    func refusedByBytes() async throws {
        try await withEdge { edge in
            edge.refuseNext(with: .answer(Array("HTTP/1.1 10".utf8)))
            let cut = try await RawClient(port: edge.port)
            try await cut.send(bytes: Array(await cut.request(target: "/app/k").utf8))
            #expect(try await cut.rest() == Array("HTTP/1.1 10".utf8))

            edge.refuseNext(with: .silence)
            let silent = try await RawClient(port: edge.port)
            try await silent.send(bytes: Array(await silent.request(target: "/app/k").utf8))
            await edge.stop()
            // stop() ends it; unread bytes make the end a reset.
            let rest = try? await silent.rest()
            #expect(rest == nil || rest == [])
        }
    }
}

extension SystemError {
    fileprivate var isReset: Bool { description.contains("reset") }
}
