/// Asks the app's authorizer to sign a subscription for one connection.
package struct ChannelAuthorizationRequest: Hashable, Sendable {
    package var tag: AuthorizationTag
    package var channel: ChannelID
    package var channelName: String
    package var connectionID: String
}

/// Asks the app's member authorizer to sign a signin for one connection.
package struct MemberAuthorizationRequest: Hashable, Sendable {
    package var tag: AuthorizationTag
    package var connectionID: String
}

/// What the authorizer answered for a channel.
package struct ChannelAuthorization: Hashable, Sendable {
    package var auth: String
    /// Sent byte for byte as it was signed.
    package var memberData: String?
    /// The key of an encrypted channel, in base64.
    package var sharedSecret: String?

    package init(auth: String, memberData: String? = nil, sharedSecret: String? = nil) {
        self.auth = auth
        self.memberData = memberData
        self.sharedSecret = sharedSecret
    }
}

/// What the member authorizer answered.
package struct MemberAuthorization: Hashable, Sendable {
    package var auth: String
    package var memberData: String

    package init(auth: String, memberData: String) {
        self.auth = auth
        self.memberData = memberData
    }
}

/// Why an authorization failed. `cause` is the app's own error, kept so that it can be thrown with its type.
package struct AuthorizationFailure: Error, Equatable, Sendable {
    package var message: String
    package var endpoint: String?
    package var status: Int?
    package var cause: (any Error)?

    package init(
        message: String, endpoint: String? = nil, status: Int? = nil, cause: (any Error)? = nil
    ) {
        self.message = message
        self.endpoint = endpoint
        self.status = status
        self.cause = cause
    }

    /// Errors in general cannot be compared: `cause` is left out.
    package static func == (left: AuthorizationFailure, right: AuthorizationFailure) -> Bool {
        left.message == right.message && left.endpoint == right.endpoint && left.status == right.status
    }
}

/// The identity of a connection after `bird:signin_success`.
package struct SignedInIdentity: Hashable, Sendable {
    package var memberID: String
    /// The JSON text of `member_info`; nil when absent or null.
    package var memberInfo: [UInt8]?

    package init(memberID: String, memberInfo: [UInt8]? = nil) {
        self.memberID = memberID
        self.memberInfo = memberInfo
    }
}

/// Why a signin ended without an identity.
package enum SigninFailure: Error, Equatable, Sendable {
    /// The member authorizer failed.
    case authorization(AuthorizationFailure)
    /// A `bird:error` without a channel arrived while the signin was pending.
    case server(ErrorReport)
    /// The connection was lost, refused or closed while the signin was pending.
    case connectionLost(ErrorReport)
    /// `signin()` was called while the client was `failed` or `disconnected`.
    case notConnectable(ConnectionPhase)
    /// The caller's task was cancelled.
    case cancelled
}
