/// What an application asked of the opening handshake cannot be asked. The message names the option or header field.
public struct HandshakeMisuse: Error, Sendable, Equatable {
    /// A sentence that names what to change.
    public var message: String

    package init(_ message: String) {
        self.message = message
    }
}

/// The server answered with something other than an upgrade.
public struct UpgradeRefusal: Error, Sendable, Equatable {
    /// The HTTP status, such as 403.
    public var status: Int
    /// The words behind it; often empty.
    public var reason: String
    /// The answer's header fields, such as Retry-After and Location.
    public var fields: HTTPFields
    /// The start of the body, as much as `Limits.maxRefusalBodyBytes`.
    public var body: [UInt8]
}

/// Why the opening handshake failed on the server's side of it.
package enum UpgradeError: Error, Sendable, Equatable {
    case refused(UpgradeRefusal)
    /// The answer breaks RFC 6455 §4.1, or is no HTTP at all.
    case invalid(String)
}
