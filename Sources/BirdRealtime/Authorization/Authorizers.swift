import RealtimeCore

/// Answers the authorization requests of the machine with what the options offer.
struct Authorizers: Sendable {
    private let options: BirdRealtimeOptions
    private let endpoints: DefaultAuthorizer

    init(_ options: BirdRealtimeOptions, transport: any AuthTransport) {
        self.options = options
        endpoints = DefaultAuthorizer(
            transport: transport, headers: options.authHeaders, provider: options.authHeadersProvider)
    }

    func authorize(_ request: ChannelAuthorizationRequest) async
        -> Result<ChannelAuthorization, AuthorizationFailure>
    {
        do {
            let auth = try await channelAuth(request)
            return .success(
                ChannelAuthorization(
                    auth: auth.auth, memberData: auth.memberData, sharedSecret: auth.sharedSecret))
        } catch {
            return .failure(AuthorizationFailure(error))
        }
    }

    func authorize(_ request: MemberAuthorizationRequest) async
        -> Result<MemberAuthorization, AuthorizationFailure>
    {
        do {
            let auth = try await memberAuth(request)
            return .success(MemberAuthorization(auth: auth.auth, memberData: auth.memberData))
        } catch {
            return .failure(AuthorizationFailure(error))
        }
    }

    private func channelAuth(_ request: ChannelAuthorizationRequest) async throws -> ChannelAuth {
        if let authorizer = options.authorizer {
            return try await authorizer(request.channelName, request.connectionID)
        }
        guard let text = options.authEndpoint, let endpoint = AuthEndpoint(text) else {
            throw RealtimeError(
                message: "\(request.channelName) needs authorization: set authEndpoint or authorizer")
        }
        return try await endpoints.authorize(
            channel: request.channelName, connection: request.connectionID, at: endpoint)
    }

    private func memberAuth(_ request: MemberAuthorizationRequest) async throws -> MemberAuth {
        if let authorizer = options.memberAuthorizer { return try await authorizer(request.connectionID) }
        guard let text = options.memberAuthEndpoint, let endpoint = AuthEndpoint(text) else {
            throw RealtimeError(
                message: "signin() needs authorization: set memberAuthEndpoint or memberAuthorizer")
        }
        return try await endpoints.authorizeMember(connection: request.connectionID, at: endpoint)
    }
}

extension AuthorizationFailure {
    init(_ error: any Error) {
        let auth = error as? RealtimeAuthError
        let message = (error as? any BirdRealtimeError)?.message ?? String(describing: error)
        self.init(message: message, endpoint: auth?.endpoint, status: auth?.status, cause: error)
    }
}
