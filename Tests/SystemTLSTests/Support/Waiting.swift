import Glibc
import SystemIO
import Testing

/// Nothing came for as long as no machine, however busy, takes.
struct Stuck: Error {}

/// Waits until one of the descriptors is ready; wakes early where one has ended.
func waitUntilReady(_ wants: [(descriptor: Int32, interest: Interest)]) throws {
    var polled = wants.map { want in
        var events: Int16 = 0
        if want.interest.contains(.read) { events |= Int16(POLLIN) }
        if want.interest.contains(.write) { events |= Int16(POLLOUT) }
        return pollfd(fd: want.descriptor, events: events, revents: 0)
    }
    while true {
        let count = poll(&polled, nfds_t(polled.count), 60_000)
        if count > 0 { return }
        if count == 0 { throw Stuck() }
        guard errno == EINTR else { throw SystemError(errno: errno, operation: "poll") }
    }
}

/// A seeded generator: a failure replays from its seed.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count { withUnsafeBytes(of: next()) { bytes.append(contentsOf: $0) } }
        return Array(bytes.prefix(count))
    }
}

extension TCPSocket {
    /// Writes bytes that are known to fit into the kernel's buffer.
    func put(_ bytes: [UInt8]) throws {
        let outcome = try bytes.withUnsafeBytes { try write($0) }
        try #require(outcome == .bytes(bytes.count))
    }

    /// Reads what is there, or waits for something.
    func take(upTo limit: Int = 64 << 10) throws -> (outcome: ReadOutcome, bytes: [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: limit)
        while true {
            let outcome = try buffer.withUnsafeMutableBytes { try read(into: $0) }
            switch outcome {
            case .wouldBlock(let interest): try waitUntilReady([(rawValue, interest)])
            case .bytes(let count): return (outcome, Array(buffer.prefix(count)))
            case .end: return (outcome, [])
            }
        }
    }
}

/// Two ends of a TCP connection over loopback, for what only TCP does: resets.
struct Loopback: ~Copyable {
    private var client: TCPSocket?
    private var server: TCPSocket?

    init() throws {
        let listener = try ListeningSocket.bind(.loopback())
        let client = try TCPSocket(connectingTo: listener.address)
        var accepted: TCPSocket?
        while true {
            accepted = try listener.accept()
            if accepted != nil { break }
            try waitUntilReady([(listener.rawValue, .read)])
        }
        while try !client.finishConnecting(to: listener.address) {
            try waitUntilReady([(client.rawValue, .write)])
        }
        self.client = consume client
        server = accepted.take()
    }

    mutating func takeClient() throws -> TCPSocket {
        guard let end = client.take() else { throw Stuck() }
        return end
    }

    mutating func takeServer() throws -> TCPSocket {
        guard let end = server.take() else { throw Stuck() }
        return end
    }
}
