import SystemIO
import SystemTLS
import Testing

/// An authority, and contexts of a server it has signed and of a client that trusts it.
struct Parties {
    let authority: CertificateAuthority
    let server: TLSContext
    let client: TLSContext

    /// - Parameter names: what the certificate is for.
    init(
        names: [String] = ["a.test"], version: TLSOptions.Version = .tls13,
        _ change: (inout TLSOptions) -> Void = { _ in }
    ) throws {
        authority = try CertificateAuthority(name: "authority")
        let identity = try authority.issue(names: names)
        server = try .server(
            certificateChainPEM: identity.certificateChainPEM, privateKeyPEM: identity.privateKeyPEM,
            minimumVersion: version, maximumVersion: version)
        var options = TLSOptions()
        options.trust = .pem(authority.certificatePEM)
        change(&options)
        client = try .client(options)
    }
}

/// Both ends of TLS in one thread.
struct TLSPair: ~Copyable {
    var client: TLSStream
    var server: TLSStream

    /// Over a socket pair, where what is written can be read at once.
    init(_ client: TLSContext, _ server: TLSContext, host: String = "a.test") throws {
        var sockets = try SocketPair()
        let near = try TLSStream(client: client, socket: sockets.takeFirst(), host: host)
        let far = try TLSStream(server: server, socket: sockets.takeSecond())
        self.client = near
        self.server = far
    }

    /// Over any connection.
    init(_ client: consuming TLSStream, _ server: consuming TLSStream) {
        self.client = client
        self.server = server
    }

    /// Connected, and the handshake done.
    static func connected(
        version: TLSOptions.Version = .tls13, names: [String] = ["a.test"], host: String = "a.test"
    ) throws -> TLSPair {
        let parties = try Parties(names: names, version: version)
        var pair = try TLSPair(parties.client, parties.server, host: host)
        try pair.connect()
        return pair
    }

    /// The same over TCP.
    static func connectedOverTCP(version: TLSOptions.Version = .tls13) throws -> TLSPair {
        let parties = try Parties(version: version)
        var sockets = try Loopback()
        var pair = TLSPair(
            try TLSStream(client: parties.client, socket: sockets.takeClient(), host: "a.test"),
            try TLSStream(server: parties.server, socket: sockets.takeServer()))
        try pair.connect()
        return pair
    }

    /// Shakes hands, which has to succeed.
    mutating func connect() throws {
        let failures = try shakeHands()
        if let error = failures.client ?? failures.server { throw error }
    }

    /// Shakes hands until each side is done or has failed; the side that failed sends FIN, as if it were closed.
    mutating func shakeHands() throws -> (client: TLSError?, server: TLSError?) {
        var results:
            (client: Result<HandshakeProgress, TLSError>, server: Result<HandshakeProgress, TLSError>)
        results = (client.step(), server.step())
        while true {
            var waiting: [(descriptor: Int32, interest: Interest)] = []
            if case .success(.wants(let interest)) = results.client {
                waiting.append((client.rawValue, interest))
            }
            if case .success(.wants(let interest)) = results.server {
                waiting.append((server.rawValue, interest))
            }
            if waiting.isEmpty { break }
            try waitUntilReady(waiting)
            if case .success(.wants) = results.client { results.client = client.step() }
            if case .success(.wants) = results.server { results.server = server.step() }
        }
        var errors: (client: TLSError?, server: TLSError?)
        if case .failure(let error) = results.client { errors.client = error }
        if case .failure(let error) = results.server { errors.server = error }
        return errors
    }
}

extension TLSStream {
    fileprivate mutating func step() -> Result<HandshakeProgress, TLSError> {
        do throws(TLSError) {
            return .success(try handshake())
        } catch {
            shutdownWrite()
            return .failure(error)
        }
    }

    /// One read.
    mutating func readOnce(upTo limit: Int = 256 << 10) throws(TLSError) -> (
        outcome: ReadOutcome, bytes: [UInt8]
    ) {
        var buffer = [UInt8](repeating: 0, count: limit)
        let result = buffer.withUnsafeMutableBytes { buffer in
            Result { () throws(TLSError) in try read(into: buffer) }
        }
        let outcome = try result.get()
        guard case .bytes(let count) = outcome else { return (outcome, []) }
        return (outcome, Array(buffer.prefix(count)))
    }

    /// One read that brings something or ends, waiting for it.
    mutating func take(upTo limit: Int = 256 << 10) throws -> (outcome: ReadOutcome, bytes: [UInt8]) {
        while true {
            let result = try readOnce(upTo: limit)
            guard case .wouldBlock(let interest) = result.outcome else { return result }
            try waitUntilReady([(rawValue, interest)])
        }
    }

    /// Reads exactly so many bytes.
    mutating func take(exactly count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let result = try take(upTo: count - bytes.count)
            guard case .bytes = result.outcome else { throw Stuck() }
            bytes += result.bytes
        }
        return bytes
    }

    /// One write.
    mutating func writeOnce(_ bytes: some Collection<UInt8>) throws(TLSError) -> WriteOutcome {
        let result = Array(bytes).withUnsafeBytes { bytes in
            Result { () throws(TLSError) in try write(bytes) }
        }
        return try result.get()
    }

    /// Writes bytes that are known to fit into the kernel's buffer.
    mutating func put(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            guard case .bytes(let count) = try writeOnce(rest) else { throw Stuck() }
            rest = rest.dropFirst(count)
        }
    }

    mutating func put(_ text: String) throws { try put(Array(text.utf8)) }

    /// Writes until the kernel takes no more; what was reported as written comes back.
    mutating func fill(_ bytes: [UInt8]) throws -> Int {
        var sent = 0
        while case .bytes(let count) = try writeOnce(bytes[sent...].prefix(40_000)) {
            sent += count
            try #require(sent < bytes.count, "the kernel takes everything")
        }
        return sent
    }
}

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
