import SystemIO

/// A listener whose queue is full: the kernel drops every further SYN, as a black hole does.
struct BlackHole: ~Copyable {
    private let listener: ListeningSocket
    private let occupant: TCPSocket

    var address: SocketAddress { listener.address }

    init() async throws {
        let listener = try ListeningSocket.bind(.loopback(), backlog: 0)
        let occupant = try await connectTCP(to: [listener.address], on: .shared)
        _ = try await EventLoop.shared.waitUntilReady(listener.rawValue, .read)  // now the queue is full
        self.listener = listener
        self.occupant = occupant
    }
}
