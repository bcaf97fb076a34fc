import SystemTLS
import Testing

@testable import BirdRealtimeTestKit

@Suite("The edge on sockets: TLS", .timeLimit(.minutes(2)))
struct SecureEdgeTests {
    @Test("both ports speak TLS under the edge's own authority", arguments: ["127.0.0.1", "::1"])
    func secure(_ host: String) async throws {
        try await withEdge({
            $0.isSecure = true
            $0.host = host
        }) { edge in
            let authority = try #require(edge.certificateAuthorityPEM)
            #expect(edge.url.hasPrefix("wss://"))
            #expect(edge.authEndpoint.hasPrefix("https://"))
            let client = try await RawClient.established(edge)
            try await client.send(#"{"event":"bird:ping","data":{}}"#)
            #expect(try await client.text() == EdgeFrame.pong)
            let backend = try await RawClient(port: edge.authPort, host: host, trusting: authority)
            let body = #"{"connection_id":"1.1","channel_name":"private-a"}"#
            #expect(try await backend.post("/bird/auth", body).status == 200)
            try await client.send(close: 1000)
            #expect(try await client.frame() == .close(1000, ""))
            #expect(try await client.frame() == nil)
            #expect(await client.isEndClean)
        }
    }

    @Test("a large message passes in both directions")
    func large() async throws {
        try await withEdge({ $0.isSecure = true }) { edge in
            let client = try await RawClient.established(edge)
            try await client.send(#"{"event":"bird:subscribe","data":{"channel":"news"}}"#)
            _ = try await client.text()
            let data = String(repeating: "x", count: 900_000)
            await edge.publish(channel: "news", event: "e", data: data)
            #expect(try await client.text().utf8.count > 900_000)
            let long = String(repeating: "y", count: 60_000)
            try await client.send(#"{"event":"bird:ping","data":{"pad":"\#(long)"}}"#)
            #expect(try await client.text() == EdgeFrame.pong)
        }
    }

    @Test(
        "a certificate for another name and an expired one are refused by a client that verifies",
        arguments: [LoopbackEdge.Certificate.wrongName, .expired])
    func badCertificate(_ certificate: LoopbackEdge.Certificate) async throws {
        try await withEdge({
            $0.isSecure = true
            $0.certificate = certificate
        }) { edge in
            await #expect(throws: TLSError.self) { _ = try await RawClient.established(edge) }
            try await edge.waitFor { $0.end(ofConnection: 1) != nil }
            #expect(edge.log.upgradedConnections == 0)
        }
    }

    @Test("a planned TLS failure")
    func tlsFailure() async throws {
        try await withEdge({ $0.isSecure = true }) { edge in
            edge.refuseNext(with: .tlsFailure)
            await #expect(throws: (any Error).self) { _ = try await RawClient.established(edge) }
            _ = try await RawClient.established(edge)
        }
    }

    @Test("a planned FIN has no close_notify")
    func finish() async throws {
        try await withEdge({ $0.isSecure = true }) { edge in
            edge.planNext(.afterHandshake(.finish))
            let client = try await RawClient.established(edge)
            #expect(try await client.frame() == nil)
            #expect(await client.isEndClean == false)
        }
    }

    @Test("a planned refusal by status comes over TLS")
    func status() async throws {
        try await withEdge({ $0.isSecure = true }) { edge in
            edge.refuseNext(with: .status(503))
            let authority = try #require(edge.certificateAuthorityPEM)
            let client = try await RawClient(port: edge.port, host: edge.host, trusting: authority)
            let head = try await client.upgrade(target: "/app/\(edge.appKey)?protocol=7")
            #expect(head.hasPrefix("HTTP/1.1 503 "))
        }
    }
}
