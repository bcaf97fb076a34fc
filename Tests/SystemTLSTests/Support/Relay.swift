import SystemIO
import SystemTLS

/// TLS with a wire in the test's hand: what one side sends reaches the other only when the test moves it.
struct Relay: ~Copyable {
    var client: TLSStream
    var server: TLSStream
    private let clientSide: TCPSocket
    private let serverSide: TCPSocket

    init(_ parties: Parties) throws {
        var near = try SocketPair()
        var far = try SocketPair()
        let client = try TLSStream(client: parties.client, socket: near.takeFirst(), host: "a.test")
        let server = try TLSStream(server: parties.server, socket: far.takeFirst())
        self.client = client
        self.server = server
        clientSide = near.takeSecond()
        serverSide = far.takeSecond()
    }

    /// Shakes hands, unchanged.
    mutating func connect() throws {
        var progress = (HandshakeProgress.wants(.read), HandshakeProgress.wants(.read))
        while progress != (.done, .done) {
            progress.0 = try client.handshake()
            _ = try toServer()
            progress.1 = try server.handshake()
            _ = try toClient()
        }
    }

    /// Moves what the server has sent; `change` may put something else in its place.
    func toClient(_ change: ([UInt8]) -> [UInt8] = { $0 }) throws -> Int {
        try Self.move(from: serverSide, to: clientSide, change)
    }

    func toServer(_ change: ([UInt8]) -> [UInt8] = { $0 }) throws -> Int {
        try Self.move(from: clientSide, to: serverSide, change)
    }

    func sendToClient(_ bytes: [UInt8]) throws { try clientSide.put(bytes) }
    func endToClient() { clientSide.shutdownWrite() }

    private static func move(
        from: borrowing TCPSocket, to: borrowing TCPSocket, _ change: ([UInt8]) -> [UInt8]
    ) throws -> Int {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        guard case .bytes(let count) = try buffer.withUnsafeMutableBytes({ try from.read(into: $0) }) else {
            return 0
        }
        let bytes = change(Array(buffer.prefix(count)))
        if !bytes.isEmpty { try to.put(bytes) }
        return count
    }
}
