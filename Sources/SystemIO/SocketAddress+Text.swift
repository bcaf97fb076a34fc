extension SocketAddress: CustomStringConvertible {
    public var description: String { "" }
    public init?(_ text: String) { nil }
    /// nil: host is a name, not an address
    package static func literal(_ host: String, _ port: UInt16) -> SocketAddress? { nil }
}
