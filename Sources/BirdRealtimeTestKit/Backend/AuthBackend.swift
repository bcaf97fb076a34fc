internal import RealtimeCore

/// The customer's backend: says who a client is and signs what it may do. Pure: requests in, answers out.
struct AuthBackend: Sendable {
    var signature: EdgeSignature
    /// The same key with another secret, for ``LoopbackEdge/AuthFault/wrongSignature``.
    var forgedSignature: EdgeSignature
    var member: @Sendable (LoopbackEdge.AuthRequest) -> LoopbackEdge.Member
    var sharedSecret: @Sendable (String) -> String?

    /// What a request asks for.
    enum Task {
        case authorize(LoopbackEdge.AuthRequest)
        case publish(Publication)
        /// Not a request that the backend takes.
        case refuse(HTTPAnswer)
    }

    struct Publication: Equatable {
        enum Receiver: Equatable {
            case channel(String)
            case member(String)
        }
        var receiver: Receiver
        var event: String
        var data: String
        var exceptConnectionID: String?
    }

    static let channelPath = "/bird/auth"
    static let memberPath = "/bird/auth/member"
    static let publishPath = "/publish"

    /// Sorts a request. Authorization requests are never refused here: faults come before checks.
    static func task(of request: HTTPRequest) -> Task {
        switch request.path {
        case channelPath, memberPath: .authorize(authRequest(request))
        case publishPath: publication(request)
        default: .refuse(.text(404, "no such path: \(request.path)"))
        }
    }

    /// The answer when nothing is to go wrong.
    func answer(to request: LoopbackEdge.AuthRequest, forged: Bool = false) -> HTTPAnswer {
        guard request.method == "POST" else { return .text(405, "authorization requests are POST requests") }
        guard request.header("content-type")?.lowercased().hasPrefix("application/json") == true else {
            return .text(415, "content-type is not application/json")
        }
        guard let connectionID = request.connectionID, !connectionID.isEmpty else {
            return .text(400, "the body has no string connection_id")
        }
        let signature = forged ? forgedSignature : signature
        guard request.path != Self.memberPath else {
            let data = Self.memberData(member(request), withWatchlist: true)
            let text = EdgeSignature.signinText(connectionID: connectionID, memberData: data)
            return Self.answer(auth: signature.auth(for: text), memberData: data)
        }
        guard let channel = request.channel, !channel.isEmpty else {
            return .text(400, "the body has no string channel_name")
        }
        let family = ChannelFamily(name: channel)
        guard family.needsAuthorization else { return .text(403, "\"\(channel)\" needs no authorization") }
        let data = family == .presence ? Self.memberData(member(request), withWatchlist: false) : nil
        let text = EdgeSignature.text(connectionID: connectionID, channel: channel, memberData: data)
        return Self.answer(
            auth: signature.auth(for: text), memberData: data,
            sharedSecret: family == .encrypted ? sharedSecret(channel) : nil)
    }

    private static func answer(auth: String, memberData: String?, sharedSecret: String? = nil) -> HTTPAnswer {
        .json(
            JSONText.object([
                ("auth", JSONText.string(auth)),
                ("member_data", memberData.map(JSONText.string)),
                ("shared_secret", sharedSecret.map(JSONText.string)),
            ]))
    }

    private static func memberData(_ member: LoopbackEdge.Member, withWatchlist: Bool) -> String {
        JSONText.object([
            ("member_id", JSONText.string(member.id)),
            ("member_info", member.info.map(JSONText.value)),
            (
                "watchlist",
                withWatchlist && !member.watchlist.isEmpty ? JSONText.strings(member.watchlist) : nil
            ),
        ])
    }

    private static func authRequest(_ request: HTTPRequest) -> LoopbackEdge.AuthRequest {
        let body = JSONValue(parsing: request.body)
        return LoopbackEdge.AuthRequest(
            method: request.method, path: request.path, headers: request.headers, body: request.body,
            connectionID: body?["connection_id"]?.string, channel: body?["channel_name"]?.string)
    }

    private static func publication(_ request: HTTPRequest) -> Task {
        guard request.method == "POST" else { return .refuse(.text(405, "publish with a POST request")) }
        guard let body = JSONValue(parsing: request.body), let event = body["event"]?.string else {
            return .refuse(.text(400, "the body is to be {\"channel\" or \"member\", \"event\", \"data\"}"))
        }
        let receiver: Publication.Receiver
        if let channel = body["channel"]?.string {
            receiver = .channel(channel)
        } else if let member = body["member"]?.identifier {
            receiver = .member(member)
        } else {
            return .refuse(.text(400, "the body names neither channel nor member"))
        }
        let data = body["data"]
        return .publish(
            Publication(
                receiver: receiver, event: event,
                data: data?.string ?? data.map { String(decoding: $0.text, as: UTF8.self) } ?? "{}",
                exceptConnectionID: body["connection_id"]?.string))
    }
}
