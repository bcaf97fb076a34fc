/// Names one socket for its whole life; what carries the tag of an earlier socket is ignored.
package struct SocketTag: Hashable, Sendable {
    package var rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
}

/// Names one authorization request; an answer whose request is no longer awaited is dropped.
package struct AuthorizationTag: Hashable, Sendable {
    package var rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
}

/// Names one channel object from `subscribe` to `unsubscribe`. The next `subscribe` of the same name gets another id.
package struct ChannelID: Hashable, Sendable {
    package var rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
}

/// Names one caller that waits in `signin()`. The shell chooses it, and never twice the same.
package struct WaiterID: Hashable, Sendable {
    package var rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
}
