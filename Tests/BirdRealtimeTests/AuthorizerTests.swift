import BirdRealtimeTestKit
import Synchronization
import Testing

@testable import BirdRealtime

/// The default authorizers against a backend on a real socket.
@Suite(.timeLimit(.minutes(2))) struct AuthorizerTests {
    func options(_ edge: LoopbackEdge) -> BirdRealtimeOptions {
        var options = edge.options()
        options.authTimeout = 55
        return options
    }

    func ask(
        _ options: BirdRealtimeOptions, channel: String = "private-a"
    ) async throws -> ChannelAuth {
        guard let endpoint = AuthEndpoint(options.authEndpoint ?? "") else { throw CancellationError() }
        return try await DefaultAuthorizer(
            transport: EndpointTransport(options), headers: options.authHeaders,
            provider: options.authHeadersProvider
        ).authorize(channel: channel, connection: "1.1", at: endpoint)
    }

    func withEdge(
        isSecure: Bool = false, _ body: (LoopbackEdge) async throws -> Void
    ) async throws {
        var configuration = LoopbackEdge.Configuration()
        configuration.isSecure = isSecure
        let edge = LoopbackEdge(configuration)
        try await edge.start()
        do {
            try await body(edge)
        } catch {
            await edge.stop()
            throw error
        }
        await edge.stop()
    }

    @Test(
        "The question is JSON with the headers of the options and of the provider", arguments: [false, true])
    func question(isSecure: Bool) async throws {
        try await withEdge(isSecure: isSecure) { edge in
            var options = options(edge)
            options.authHeaders = ["X-One": "1", "authorization": "old"]
            options.authHeadersProvider = { ["Authorization": "Bearer new"] }
            let auth = try await ask(options)
            #expect(auth.auth.hasPrefix("\(edge.appKey):"))
            #expect(auth.memberData == nil)
            let request = try #require(edge.log.authExchanges().first?.request)
            #expect(request.method == "POST")
            #expect(request.header("content-type") == "application/json")
            #expect(request.header("x-one") == "1")
            #expect(request.header("authorization") == "Bearer new")
            #expect(request.connectionID == "1.1" && request.channel == "private-a")
            let presence = try await ask(options, channel: "presence-a")
            #expect(presence.memberData?.contains("member_id") == true)
        }
    }

    @Test("A member's authorization needs both fields")
    func member() async throws {
        try await withEdge { edge in
            let options = options(edge)
            let endpoint = try #require(AuthEndpoint(edge.memberAuthEndpoint))
            let authorizer = DefaultAuthorizer(
                transport: EndpointTransport(options), headers: [:], provider: nil)
            let auth = try await authorizer.authorizeMember(connection: "1.1", at: endpoint)
            #expect(!auth.auth.isEmpty && auth.memberData.contains("loopback-member"))
            edge.failAuth(with: .status(200, contentType: "application/json", body: #"{"auth":"a"}"#))
            await #expect(throws: RealtimeAuthError.self) {
                try await authorizer.authorizeMember(connection: "1.1", at: endpoint)
            }
        }
    }

    @Test(
        "J4: an answer that is no authorization is an error with endpoint and status",
        arguments: [false, true])
    func refusals(isSecure: Bool) async throws {
        try await withEdge(isSecure: isSecure) { edge in
            let options = options(edge)
            let faults: [(LoopbackEdge.AuthFault, Int)] = [
                (.status(401), 401), (.status(500), 500), (.status(302), 302), (.html, 200),
                (.missingAuth, 200),
                (.status(200, contentType: "application/json", body: #"{"auth":7}"#), 200),
                (.reset, 0), (.truncated, 0),
            ]
            for (fault, status) in faults {
                edge.failAuth(with: fault)
                await #expect {
                    try await ask(options)
                } throws: { error in
                    guard let error = error as? RealtimeAuthError else { return false }
                    return error.status == status && error.endpoint == options.authEndpoint
                }
            }
            // None of them spoils the next request.
            _ = try await ask(options)
        }
    }

    @Test("A request that is not answered ends after authTimeout with status 0", arguments: [false, true])
    func timeout(isSecure: Bool) async throws {
        try await withEdge(isSecure: isSecure) { edge in
            var options = options(edge)
            options.authTimeout = 0.3
            edge.failAuth(with: .held)
            await #expect {
                try await ask(options)
            } throws: { error in
                (error as? RealtimeAuthError)?.status == 0
            }
        }
    }

    @Test("Nobody at the endpoint is status 0", arguments: ["http", "https"])
    func nobody(scheme: String) async throws {
        try await withEdge(isSecure: scheme == "https") { edge in
            var options = options(edge)
            // Nobody is given port 1 by chance.
            options.authEndpoint = "\(scheme)://127.0.0.1:1/auth"
            await #expect {
                try await ask(options)
            } throws: { error in
                (error as? RealtimeAuthError)?.status == 0
            }
        }
    }

    @Test("A certificate of an unknown authority is refused")
    func untrusted() async throws {
        try await withEdge(isSecure: true) { edge in
            var options = options(edge)
            options.tls = TLSOptions()
            await #expect(throws: RealtimeAuthError.self) { try await ask(options) }
            #expect(edge.log.authExchanges().isEmpty)
        }
    }

    @Test("A header that could end its line is not sent")
    func injection() async throws {
        try await withEdge { edge in
            var options = options(edge)
            options.authHeaders = ["x": "a\r\nb: c"]
            await #expect(throws: RealtimeError.self) { try await ask(options) }
            #expect(edge.log.authExchanges().isEmpty)
        }
    }
}
