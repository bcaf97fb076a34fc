import RealtimeCore
import Testing

@testable import BirdRealtimeTestKit

@Suite("The edge on sockets: faults of the auth backend", .timeLimit(.minutes(2)))
struct AuthFaultTests {
    private let body = #"{"connection_id":"1.1","channel_name":"private-a"}"#

    @Test("a fault for the next request, then the right answer, on one connection")
    func answers() async throws {
        try await withEdge { edge in
            let backend = try await RawClient(port: edge.authPort)
            let right = try await backend.post("/bird/auth", body)
            #expect(right.status == 200)

            edge.failAuth(with: .status(403, body: "no"))
            #expect(try await backend.post("/bird/auth", body) == (403, "no"))
            edge.failAuth(with: .html)
            let page = try await backend.post("/bird/auth", body)
            #expect(page.status == 200 && page.body.hasPrefix("<!doctype html>"))
            edge.failAuth(with: .wrongSignature)
            let forged = try await backend.post("/bird/auth", body)
            #expect(forged.status == 200 && forged.body != right.body)
            edge.failAuth(with: .missingAuth)
            let missing = try await backend.post("/bird/auth", body)
            #expect(JSONValue(parsing: Array(missing.body.utf8))?["auth"] == nil)
            edge.failAuth(with: .slow(.milliseconds(1)))
            #expect(try await backend.post("/bird/auth", body) == right)
            #expect(try await backend.post("/bird/auth", body) == right)
            #expect(edge.log.authExchanges().map(\.status) == [200, 403, 200, 200, 200, 200, 200])
        }
    }

    @Test("a fault for one channel leaves the others alone")
    func oneChannel() async throws {
        try await withEdge { edge in
            let backend = try await RawClient(port: edge.authPort)
            edge.failAuth(2, with: .status(500), channel: "private-b")
            #expect(try await backend.post("/bird/auth", body).status == 200)
            let other = #"{"connection_id":"1.1","channel_name":"private-b"}"#
            #expect(try await backend.post("/bird/auth", other).status == 500)
            #expect(try await backend.post("/bird/auth/member", #"{"connection_id":"1.1"}"#).status == 200)
            #expect(try await backend.post("/bird/auth", other).status == 500)
            #expect(try await backend.post("/bird/auth", other).status == 200)
        }
    }

    @Test("a held answer is given when it is released")
    func held() async throws {
        try await withEdge { edge in
            edge.failAuth(with: .held)
            let backend = try await RawClient(port: edge.authPort)
            async let answer = backend.post("/bird/auth", body)
            try await edge.waitFor {
                $0.entries.contains { if case .authRequested = $0 { true } else { false } }
            }
            #expect(edge.log.authExchanges().isEmpty)
            #expect(await edge.releaseAuth() == 1)
            #expect(try await answer.status == 200)
            #expect(await edge.releaseAuth() == 0)
        }
    }

    @Test("a client that gives a held request up is logged")
    func abandoned() async throws {
        try await withEdge { edge in
            edge.failAuth(with: .held)
            let backend = try await RawClient(port: edge.authPort)
            let body = body
            let answer = Task { try await backend.post("/bird/auth", body) }
            try await edge.waitFor {
                $0.entries.contains { if case .authRequested = $0 { true } else { false } }
            }
            await backend.finish()
            try await edge.waitFor { $0.authExchanges().map(\.status) == [0] }
            await #expect(throws: RawClient.Ended.self) { _ = try await answer.value }
        }
    }

    @Test("a reset and a truncated answer")
    func broken() async throws {
        try await withEdge { edge in
            edge.failAuth(with: .reset)
            let reset = try await RawClient(port: edge.authPort)
            await #expect(throws: (any Error).self) { _ = try await reset.post("/bird/auth", body) }
            edge.failAuth(with: .truncated)
            let truncated = try await RawClient(port: edge.authPort)
            await #expect(throws: RawClient.Ended.self) { _ = try await truncated.post("/bird/auth", body) }
        }
    }

    @Test("bad requests are answered and do not end the edge")
    func badRequests() async throws {
        try await withEdge { edge in
            let backend = try await RawClient(port: edge.authPort)
            #expect(try await backend.post("/elsewhere", "").status == 404)
            #expect(try await backend.post("/publish", "no json").status == 400)
            try await backend.send(bytes: Array("nonsense\r\n\r\n".utf8))
            #expect(try await backend.head().hasPrefix("HTTP/1.1 400 "))
            _ = try await backend.rest()
        }
    }
}
