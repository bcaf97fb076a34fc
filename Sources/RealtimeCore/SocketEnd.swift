/// How a socket that had finished its WebSocket upgrade came to its end.
package struct SocketEnd: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// A close frame arrived (with or without a code).
        case closeFrame
        /// The stream ended without a close frame.
        case endOfStream
        /// The stream ended in the middle of something: a frame, or TLS without close_notify.
        case truncated
        /// The operating system or TLS reported an error.
        case transport
        /// The peer broke the WebSocket protocol.
        case violation
        /// No sign of life within the pong timeout: dropped by this side.
        case stale
    }

    package var kind: Kind
    /// The code of the peer's close frame; nil stands for 1005 and 1006 (no code was received).
    package var code: Int?
    /// The reason of the close frame, or what went wrong, in words.
    package var reason: String

    package init(_ kind: Kind, code: Int? = nil, reason: String = "") {
        self.kind = kind
        // RFC 6455 §7.4.1: 1005, 1006 and 1015 are never on the wire; they say that there was no code.
        self.code = code == 1005 || code == 1006 || code == 1015 ? nil : code
        self.reason = reason
    }
}

/// Why an attempt failed before its WebSocket upgrade was done.
package struct AttemptFailure: Hashable, Sendable {
    package enum Phase: String, Hashable, Sendable {
        case resolve = "looking up the host name"
        case connect = "opening the TCP connection"
        case tls = "the TLS handshake"
        case upgrade = "the WebSocket upgrade"
        case handshake = "waiting for bird:connection_established"
    }

    package var phase: Phase
    package var message: String
    /// The status of an HTTP answer that refused the upgrade.
    package var httpStatus: Int?
    /// What its `Retry-After` asked for; nil when absent or unreadable.
    package var retryAfter: Duration?

    package init(
        _ phase: Phase, _ message: String, httpStatus: Int? = nil, retryAfter: Duration? = nil
    ) {
        self.phase = phase
        self.message = message
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
    }
}

/// What `onError` hears.
package struct ErrorReport: Error, Hashable, Sendable {
    /// A code of the wire (`bird:error` or a close frame), never an HTTP status.
    package var code: Int?
    package var message: String

    package init(code: Int? = nil, message: String) {
        self.code = code
        self.message = message
    }
}
