/// The events that are the protocol's own.
enum ProtocolEvent: Hashable, Sendable {
    case connectionEstablished, error, ping, pong, signinSuccess
    case subscriptionSucceeded, subscriptionError, connectionCount, memberAdded, memberRemoved
    case watchlistEvents
    /// Never reaches handlers: an unknown internal event, or a name that the client itself emits.
    case reserved

    /// nil for a name that is an application event after all (an unknown `bird:` name).
    init?(_ slice: JSONStringSlice, in message: RawSpan) {
        let name = slice.string(in: message)
        switch name {
        case "bird:connection_established": self = .connectionEstablished
        case "bird:error": self = .error
        case "bird:ping": self = .ping
        case "bird:pong": self = .pong
        case "bird:signin_success": self = .signinSuccess
        case "bird_internal:subscription_succeeded": self = .subscriptionSucceeded
        case "bird_internal:subscription_error": self = .subscriptionError
        case "bird_internal:connection_count": self = .connectionCount
        case "bird_internal:member_added": self = .memberAdded
        case "bird_internal:member_removed": self = .memberRemoved
        case "bird_internal:watchlist_events": self = .watchlistEvents
        case "bird:subscription_succeeded", "bird:subscription_error", "bird:connection_count",
            "bird:member_added", "bird:member_removed", "bird:decryption_error":
            self = .reserved
        default:
            guard name.hasPrefix("bird_internal:") else { return nil }
            self = .reserved
        }
    }

    /// True for names that begin with `bird:` or `bird_internal:`; looks at the bytes only.
    static func hasReservedPrefix(_ slice: JSONStringSlice, in message: RawSpan) -> Bool {
        if slice.hasEscapes {
            let name = slice.string(in: message)
            return name.hasPrefix("bird:") || name.hasPrefix("bird_internal:")
        }
        let start = slice.range.lowerBound
        if slice.range.count >= 5, message.matches("bird:", in: start..<start + 5) { return true }
        return slice.range.count >= 14 && message.matches("bird_internal:", in: start..<start + 14)
    }
}
