import Glibc
import Synchronization
import SystemIO
import Testing

/// Runs a body with a loop of its own and stops the loop afterwards.
func withLoop<R>(_ body: (EventLoop) async throws -> R) async throws -> R {
    let loop = EventLoop(name: "test")
    do {
        let result = try await body(loop)
        await loop.stop()
        return result
    } catch {
        await loop.stop()
        throw error
    }
}

/// Calls a closure with what it hears.
final class HandlerProbe: ReadinessHandler {
    private let body: (Readiness) -> Void
    init(_ body: @escaping (Readiness) -> Void) { self.body = body }
    func ready(_ readiness: Readiness) { body(readiness) }
}

/// Lets the loop go round a number of times.
func rounds(_ count: Int, of loop: EventLoop) async {
    for _ in 0..<count { await loop.run {} }
}

/// Accumulates values from any thread.
final class Log<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    func append(_ element: Element) { elements.withLock { $0.append(element) } }
    var all: [Element] { elements.withLock { $0 } }
}

/// Is set once, read anywhere.
final class Flag: Sendable {
    private let state = Mutex(false)
    var isSet: Bool { state.withLock { $0 } }
    func set() { state.withLock { $0 = true } }
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
}

extension TCPSocket {
    /// Writes text that is known to fit into the kernel's buffer.
    func put(_ text: String) throws {
        let outcome = try Array(text.utf8).withUnsafeBytes { try write($0) }
        #expect(outcome == .bytes(text.utf8.count))
    }

    /// One read, as text.
    func get() throws -> (outcome: ReadOutcome, text: String) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let outcome = try buffer.withUnsafeMutableBytes { try read(into: $0) }
        guard case .bytes(let count) = outcome else { return (outcome, "") }
        return (outcome, String(decoding: buffer.prefix(count), as: UTF8.self))
    }
}

/// How many descriptors of a kind (`socket:`, `anon_inode:[eventpoll]`) this process holds. The dispatch library opens
/// an epoll of its own when it likes, so only the kinds that a test makes are worth counting.
func descriptorCount(_ kind: String) -> Int {
    entries("/proc/self/fd").count { name in
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { target in
            guard let base = target.baseAddress else { return false }
            target.initialize(repeating: 0)
            return readlink("/proc/self/fd/\(name)", base, 255) > 0 && String(cString: base).hasPrefix(kind)
        }
    }
}

/// How many threads this process has.
func threadCount() -> Int { entries("/proc/self/task").count }

private func entries(_ path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        names.append(name)
    }
    return names
}

/// A port that is taken, so that no other test gets it, and on which nobody listens: connecting is refused.
struct ClosedPort: ~Copyable {
    /// The bound socket.
    let descriptor: Descriptor
    let address: SocketAddress

    init() throws {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var kernel = sockaddr_in()
        kernel.sin_family = sa_family_t(AF_INET)
        kernel.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &kernel) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(number, address, length) == 0 ? getsockname(number, address, &length) : -1
            }
        }
        try #require(number >= 0 && result == 0)
        descriptor = Descriptor(owning: number)
        address = .loopback(port: UInt16(bigEndian: kernel.sin_port))
    }
}

/// The next connection of a listener.
func accept(_ listener: borrowing ListeningSocket, _ loop: EventLoop) async throws -> TCPSocket {
    while true {
        if let socket = try listener.accept() { return socket }
        _ = try await loop.waitUntilReady(listener.rawValue, .read)
    }
}

/// A TCP connection over loopback.
func withConnection(
    _ body: (borrowing TCPSocket, borrowing TCPSocket, EventLoop) async throws -> Void
) async throws {
    try await withLoop { loop in
        let listener = try ListeningSocket.bind(.loopback())
        let client = try await connectTCP(to: [listener.address], on: loop)
        let server = try await accept(listener, loop)
        try await body(client, server, loop)
    }
}
