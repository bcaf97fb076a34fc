/// What the prefix of a channel name says.
package enum ChannelFamily: Hashable, Sendable {
    case `public`, `private`, presence, encrypted

    package init(name: String) {
        if name.hasPrefix("private-encrypted-") {
            self = .encrypted
        } else if name.hasPrefix("private-") {
            self = .private
        } else if name.hasPrefix("presence-") {
            self = .presence
        } else {
            self = .public
        }
    }

    /// True when a subscription carries a signature.
    package var needsAuthorization: Bool {
        switch self {
        case .public: false
        case .private, .presence, .encrypted: true
        }
    }

    /// The channel that carries the events of a signed-in member.
    package static func memberChannelName(memberID: String) -> String {
        "#server-to-user-\(memberID)"
    }
}
