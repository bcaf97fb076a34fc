package struct ListeningSocket: ~Copyable, Sendable {
    private let descriptor: Descriptor
    /// The address with the real port.
    package let address: SocketAddress
    package var rawValue: Int32 { descriptor.rawValue }
    package static func bind(_ address: SocketAddress, backlog: Int32 = 512) throws(SystemError)
        -> ListeningSocket
    { fatalError() }
    /// nil: nobody waits. Throws with `isExhaustion`: pause for a while
    package func accept() throws(SystemError) -> TCPSocket? { fatalError() }
}
