package enum ResolveError: Error, Sendable, Equatable, CustomStringConvertible {
    case cancelled(host: String)
    case failed(host: String, reason: String, isTemporary: Bool)

    package var description: String { "" }
}

package struct Resolver: Sendable {
    package let resolve:
        @Sendable (_ host: String, _ port: UInt16) async throws(ResolveError) -> [SocketAddress]
    package init(
        resolve:
            @escaping @Sendable (_ host: String, _ port: UInt16) async throws(ResolveError) -> [SocketAddress]
    ) {
        self.resolve = resolve
    }
    package static let system = Resolver { (host, port) async throws(ResolveError) -> [SocketAddress] in
        fatalError()
    }
}
