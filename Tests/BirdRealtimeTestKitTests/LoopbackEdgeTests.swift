import Testing

@testable import BirdRealtimeTestKit

@Suite("The edge's life and log", .timeLimit(.minutes(2)))
struct LoopbackEdgeTests {
    @Test("stop drops everyone, frees the ports and ends every wait; start takes the same ports again")
    func stopAndStart() async throws {
        let edge = LoopbackEdge()
        try await edge.start()
        let ports = (edge.port, edge.authPort)
        let client = try await RawClient.established(edge)
        let wait = Task { try await edge.waitFor { _ in false } }
        await edge.stop()
        await #expect {
            try await wait.value
        } throws: { error in
            guard case LoopbackEdge.WaitError.stopped = error else { return false }
            return true
        }
        #expect(try await client.frame() == nil)
        #expect(edge.log.end(ofConnection: 1) == .dropped)
        await #expect(throws: (any Error).self) { _ = try await RawClient(port: ports.0) }
        await #expect(throws: (any Error).self) { _ = try await RawClient(port: ports.1) }
        #expect(await edge.publish(channel: "news", event: "e") == 0)
        try await edge.start()
        #expect(ports == (edge.port, edge.authPort))
        let again = try await RawClient.open(edge)
        #expect(try await again.event().data?.contains("2.2") == true)
        await edge.stop()
        await edge.stop()
    }

    @Test("an edge starts once, on loopback addresses, on ports that are free")
    func startErrors() async throws {
        try await withEdge { edge in
            await #expect(throws: LoopbackEdge.StartError.alreadyRunning) { try await edge.start() }
            var configuration = LoopbackEdge.Configuration()
            configuration.port = edge.port
            let taken = LoopbackEdge(configuration)
            await #expect(throws: LoopbackEdge.StartError.self) { try await taken.start() }
            configuration.host = "0.0.0.0"
            let open = LoopbackEdge(configuration)
            await #expect(throws: LoopbackEdge.StartError.notLoopback("0.0.0.0")) { try await open.start() }
        }
    }

    @Test("an edge that is dropped closes its sockets")
    func dropped() async throws {
        func connectToDroppedEdge() async throws -> RawClient {
            let edge = LoopbackEdge()
            try await edge.start()
            return try await RawClient.established(edge)
        }
        #expect(try await connectToDroppedEdge().frame() == nil)
    }

    @Test("a wait ends with its time and with its task")
    func waits() async throws {
        try await withEdge { edge in
            await #expect {
                try await edge.waitFor(timeout: .milliseconds(1)) { _ in false }
            } throws: { error in
                guard case LoopbackEdge.WaitError.timedOut = error else { return false }
                return true
            }
            let task = Task { try await edge.waitFor { _ in false } }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("a wait finds what was logged before and what is logged later")
    func finds() async throws {
        try await withEdge { edge in
            async let later = edge.waitForValue { $0.received("bird:ping").first?.connection }
            let client = try await RawClient.established(edge)
            try await client.send(#"{"event":"bird:ping","data":{}}"#)
            #expect(try await later == 1)
            try await edge.waitFor { $0.upgradedConnections == 1 }
        }
    }

    @Test("the entries are a sequence that ends with the edge")
    func entries() async throws {
        let edge = LoopbackEdge()
        try await edge.start()
        let reader = Task {
            var lines: [String] = []
            for try await entry in edge.entries { lines.append(entry.description) }
            return lines
        }
        let client = try await RawClient.established(edge)
        try await client.send(opcode: 9, [1, 2])
        _ = try await client.frame()
        await edge.stop()
        let lines = try await reader.value
        #expect(
            lines == [
                "#1 accepted", "#1 upgraded: /app/loopback-key?protocol=7", lines[2],
                "#1 ← ping of 2 bytes", "#1 → pong of 2 bytes", "#1 ended: dropped",
            ])
        #expect(lines[2].hasPrefix(#"#1 → {"event":"bird:connection_established""#))
    }

    @Test("the log keeps the newest entries")
    func bounded() {
        let book = LogBook(limit: 8)
        for number in 1...100 { book.write(.accepted(connection: number)) }
        let log = book.log
        #expect(log.entries.count <= 8)
        #expect(log.entries.count + log.droppedEntries == 100)
        guard case .accepted(connection: 100) = log.entries.last else {
            Issue.record("the newest entry is missing")
            return
        }
    }

    @Test("the endpoints are URLs of this edge")
    func endpoints() async throws {
        try await withEdge({ $0.host = "::1" }) { edge in
            #expect(edge.wsHost == "[::1]:\(edge.port)")
            #expect(edge.url == "ws://[::1]:\(edge.port)/app/loopback-key?protocol=7")
            #expect(edge.authEndpoint == "http://[::1]:\(edge.authPort)/bird/auth")
            #expect(edge.memberAuthEndpoint == "http://[::1]:\(edge.authPort)/bird/auth/member")
            #expect(edge.certificateAuthorityPEM == nil)
        }
    }
}
