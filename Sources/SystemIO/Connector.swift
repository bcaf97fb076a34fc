package enum ConnectError: Error, Sendable, Equatable, CustomStringConvertible {
    case cancelled
    case noAddresses
    case failed([SystemError])
    package var description: String { "" }
}

package func connectTCP(
    to addresses: [SocketAddress], on loop: EventLoop = .shared, isolation: isolated (any Actor)? = #isolation
) async throws(ConnectError) -> TCPSocket { fatalError() }
