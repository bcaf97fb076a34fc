public import SystemIO

/// TLS did not come about, or broke. The message says what is wrong and what mends it.
public struct TLSError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of failure it is.
    public enum Kind: Sendable, Equatable {
        /// The peer's certificate was not accepted.
        case certificate
        /// The two sides did not agree, or the peer does not speak TLS.
        case handshake
        /// What arrived later is no TLS.
        case connection
        /// The socket below failed.
        case transport(SystemError)
        /// An option cannot be used: a file that is not there, a key that does not fit.
        case configuration
    }

    /// What kind of failure it is.
    public var kind: Kind
    /// A sentence: which certificate or step, why, and what mends it.
    public var message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    package init(transport error: SystemError) {
        self.init(.transport(error), error.description)
    }

    /// The message.
    public var description: String { message }
}
