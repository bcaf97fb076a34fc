/// A backend's permission to subscribe one channel on one connection.
public struct ChannelAuth: Sendable, Hashable {
    /// `<appKey>:<signature>`.
    public var auth: String
    /// The signed description of the member, exactly as signed; needed by presence channels.
    public var memberData: String?
    /// The base64 key of an encrypted channel.
    public var sharedSecret: String?

    /// The permission a backend returned. `memberData` is needed by presence channels.
    public init(auth: String, memberData: String? = nil) {
        self.auth = auth
        self.memberData = memberData
    }

    /// The permission a backend returned for an encrypted channel, with its base64 key.
    public init(auth: String, memberData: String? = nil, sharedSecret: String?) {
        self.auth = auth
        self.memberData = memberData
        self.sharedSecret = sharedSecret
    }
}

/// A backend's permission to sign in on one connection.
public struct MemberAuth: Sendable, Hashable {
    /// `<appKey>:<signature>`.
    public var auth: String
    /// The signed description of the member, exactly as signed.
    public var memberData: String

    /// The permission a backend returned.
    public init(auth: String, memberData: String) {
        self.auth = auth
        self.memberData = memberData
    }
}

/// Asks a backend to authorize the subscription of a private, presence or encrypted channel on one connection.
///
/// It is called anew for every connection. What it throws reaches the channel as `bird:subscription_error`; the
/// `message` of a ``BirdRealtimeError`` becomes the payload's `error`. It runs on Swift's concurrency pool, and its
/// task is cancelled when the answer has become useless.
public typealias Authorizer =
    @concurrent @Sendable (_ channelName: String, _ connectionId: String) async throws -> ChannelAuth

/// Asks a backend to authorize a sign-in on one connection. What it throws leaves `signin()` unchanged.
public typealias MemberAuthorizer = @concurrent @Sendable (_ connectionId: String) async throws -> MemberAuth

/// Gives the headers of one authorization request; asked before every request, so that tokens stay fresh.
public typealias AuthHeadersProvider = @concurrent @Sendable () async throws -> [String: String]
