/// The peer broke the protocol. The connection fails with `closeCode` (RFC 6455 §7.1.7).
public struct ProtocolViolation: Error, Sendable, Equatable {
    /// The rule that was broken, such as `RFC 6455 §5.2`.
    public var section: String
    /// The code the close frame tells the peer.
    public var closeCode: CloseCode
    /// What the peer did, in a sentence.
    public var message: String

    package init(_ section: String, _ closeCode: CloseCode, _ message: String) {
        self.section = section
        self.closeCode = closeCode
        self.message = message
    }
}

/// What the application asked to send cannot be sent.
package enum SendError: Error, Equatable, Sendable {
    case closed
    case controlTooLong(Int)
    case invalidCloseCode(UInt16)
    case reasonTooLong(Int)
    case invalidUTF8
    case messageTooBig(Int)
    case fragmentInProgress
    case noFragmentInProgress
    case compression(CompressionFailure)
}
