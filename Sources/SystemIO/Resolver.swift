internal import CSystemShims
internal import Glibc

/// Why a host's addresses are not known.
package enum ResolveError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The asking task was cancelled; the lookup may still be running, its answer goes nowhere.
    case cancelled(host: String)
    /// No answer, and why, in words. Temporary: asking later may help (the name server did not answer).
    case failed(host: String, reason: String, isTemporary: Bool)

    package var description: String {
        switch self {
        case .cancelled(let host): "look up \(host): cancelled"
        case .failed(let host, let reason, _): "look up \(host): \(reason)"
        }
    }
}

/// Turns a host into addresses, in the order in which they deserve to be tried (RFC 6724). A value, so that a test can
/// give another one.
package struct Resolver: Sendable {
    /// Looks a host up; a cancelled caller gets `ResolveError.cancelled` at once.
    package let resolve:
        @Sendable (_ host: String, _ port: UInt16) async throws(ResolveError) -> [SocketAddress]

    /// A resolver that asks a closure.
    package init(
        resolve:
            @escaping @Sendable (_ host: String, _ port: UInt16) async throws(ResolveError)
            -> [SocketAddress]
    ) {
        self.resolve = resolve
    }

    /// The system's: IP literals are answered at once, names by getaddrinfo on threads of its own, eight at most.
    package static let system = Resolver(threads: ResolverThreads(limit: 8, lookup: getAddresses))

    init(threads: ResolverThreads) {
        self.init { (host, port) async throws(ResolveError) -> [SocketAddress] in
            if let address = SocketAddress.literal(host, port) { return [address] }
            return try await threads.resolve(host, port)
        }
    }
}

/// getaddrinfo: blocks.
@Sendable
private func getAddresses(_ host: String, _ port: UInt16) -> Result<[SocketAddress], ResolveError> {
    func failure(_ reason: String, isTemporary: Bool = false) -> Result<[SocketAddress], ResolveError> {
        .failure(.failed(host: host, reason: reason, isTemporary: isTemporary))
    }
    // An empty name means this machine to getaddrinfo, and C ends a name at its first NUL.
    guard !host.isEmpty, !host.utf8.contains(0) else { return failure("not a host name") }

    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    // No AI_ADDRCONFIG: it hides ::1 and 127.0.0.1 on a machine without a network. Racing sorts out what cannot be reached.
    var list: UnsafeMutablePointer<addrinfo>?
    var result: Int32
    repeat {
        result = getaddrinfo(host, nil, &hints, &list)
    } while result == EAI_SYSTEM && errno == EINTR
    let number = errno
    defer { if let list { freeaddrinfo(list) } }
    guard result == 0 else {
        if result == EAI_SYSTEM {
            return failure(SystemError(errno: number, operation: "").reason, isTemporary: true)
        }
        return failure(String(cString: gai_strerror(result)), isTemporary: result == EAI_AGAIN)
    }

    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next {
        if let kernel = entry.pointee.ai_addr,
            let address = SocketAddress(kernel: kernel, length: entry.pointee.ai_addrlen)?.withPort(port),
            !addresses.contains(address)
        {
            addresses.append(address)
        }
        next = entry.pointee.ai_next
    }
    return addresses.isEmpty ? failure("the name has no addresses") : .success(addresses)
}
