public import SystemIO
import SystemTLS
public import WebSocketCore

/// Why a connection did not come about, or ended other than by a closing handshake.
public struct WebSocketError: Error, Sendable, CustomStringConvertible {
    /// Whose fault it is and of what kind. More may be added: compare with `==`, or switch with a default.
    public struct Kind: Sendable, Hashable {
        private enum Value: Hashable {
            case misuse, violation, transport, tls, timeout, refused, closed, cancelled
        }
        private let value: Value

        /// The program asked for something that cannot be: a URL, a header field, a close code.
        public static let misuse = Kind(value: .misuse)
        /// The peer broke RFC 6455 or RFC 7692.
        public static let violation = Kind(value: .violation)
        /// The name lookup, or the socket.
        public static let transport = Kind(value: .transport)
        /// The handshake of TLS, the server's certificate, or TLS later on.
        public static let tls = Kind(value: .tls)
        /// A time limit passed.
        public static let timeout = Kind(value: .timeout)
        /// The server answered the upgrade with another status.
        public static let refused = Kind(value: .refused)
        /// The connection has been closed already.
        public static let closed = Kind(value: .closed)
        /// Closed or cancelled by this side before it was open.
        public static let cancelled = Kind(value: .cancelled)
    }

    /// The steps of connecting.
    public enum Phase: String, Sendable {
        case resolving = "looking up the host"
        case connecting = "connecting over TCP"
        case securing = "the TLS handshake"
        case upgrading = "the WebSocket upgrade"
        case closing = "the closing handshake"
        case open = "the open connection"
    }

    /// Whose fault it is.
    public var kind: Kind
    /// A sentence that names what to mend.
    public var message: String
    /// The step that failed, where it was one.
    public var phase: Phase?
    /// The rule that was broken, where `kind` is `violation` and it was one of frames and messages.
    public var violation: ProtocolViolation?
    /// The server's answer, where `kind` is `refused`.
    public var refusal: UpgradeRefusal?
    /// The failed system call, where it was one.
    public var systemError: SystemError?

    package init(_ kind: Kind, _ message: String, phase: Phase? = nil) {
        self.kind = kind
        self.message = message
        self.phase = phase
    }

    /// The message.
    public var description: String { message }
}

extension WebSocketError {
    init(_ violation: ProtocolViolation) {
        self.init(.violation, "the peer broke \(violation.section): \(violation.message)")
        self.violation = violation
    }

    init(_ error: SystemError, phase: Phase) {
        self.init(.transport, error.description, phase: phase)
        systemError = error
    }

    init(_ error: TLSError, phase: Phase) {
        if case .transport(let system) = error.kind {
            self.init(system, phase: phase)
        } else {
            self.init(error.kind == .configuration ? .misuse : .tls, error.message, phase: phase)
        }
    }

    init(_ error: UpgradeError, host: String) {
        switch error {
        case .refused(let refusal):
            var message = "\(host) refused the upgrade with HTTP status \(refusal.status) \(refusal.reason)"
            if (300..<400).contains(refusal.status), let location = refusal.fields["Location"] {
                message += "; it points to \(location), which is not followed"
            }
            self.init(.refused, message, phase: .upgrading)
            self.refusal = refusal
        case .invalid(let why):
            self.init(.violation, "\(host) answered the upgrade wrongly: \(why)", phase: .upgrading)
        }
    }

    init(_ error: SendError) {
        switch error {
        case .closed: self = .closed
        case .controlTooLong(let count): self.init(.misuse, "a ping of \(count) bytes: 125 is the most")
        case .invalidCloseCode(let code): self.init(.misuse, "the close code \(code) may not be sent")
        case .reasonTooLong(let count):
            self.init(.misuse, "a close reason of \(count) bytes: 123 is the most")
        case .invalidUTF8: self.init(.misuse, "a text message must be UTF-8")
        case .messageTooBig(let count): self.init(.misuse, "a message of \(count) bytes is too big")
        case .fragmentInProgress: self.init(.misuse, "another message is being sent in pieces")
        case .noFragmentInProgress: self.init(.misuse, "the message that is sent in pieces has ended")
        case .compression(let failure): self.init(.transport, "a message could not be compressed: \(failure)")
        }
    }

    static var closed: WebSocketError { WebSocketError(.closed, "the connection is closed") }
    static var cancelled: WebSocketError {
        WebSocketError(.cancelled, "cancelled before the connection was open")
    }
}
