internal import CSystemShims
internal import Glibc
package import SystemIO

/// How far a handshake has come.
package enum HandshakeProgress: Equatable, Sendable {
    case done
    /// Go on when the socket is ready for this.
    case wants(Interest)
}

/// TLS over one socket, which it owns. Non-blocking: each call does what it can and says what it waits for.
package struct TLSStream: ~Copyable, @unchecked Sendable {
    // An SSL is used by one owner at a time, which is what ~Copyable says: it may move between threads, not be shared.
    let ssl: OpaquePointer
    private let bioState: SocketBIO.StatePointer
    /// OpenSSL points to it, unretained.
    private let verification: PeerVerification
    private let context: TLSContext
    private let socket: TCPSocket
    /// The peer, in words.
    private let host: String
    private var reading = Reading.open
    private var hasWriteFailed = false
    /// Whether the last read stopped because there was nothing more, not because its buffer was full.
    private var isDrained = false
    private var committed: CommittedBytes?

    private enum Reading {
        case open
        /// Found behind bytes that had to be handed out first.
        case ended(isClean: Bool)
        case failed(TLSError)
    }

    /// A client's stream; nothing is sent before `handshake`.
    ///
    /// - Parameter host: the URL's host, whose name or address the certificate must have (RFC 9110 §4.3.4). A name is
    ///   told to the server (SNI), an address is not (RFC 6066 §3).
    package init(client context: TLSContext, socket: consuming TCPSocket, host: String) throws(TLSError) {
        let name = try PeerName(context.serverName ?? host)
        let (ssl, state) = try Self.make(context, socket.rawValue)
        SSL_set_connect_state(ssl)
        guard name.expect(on: ssl) else {
            SSL_free(ssl)
            throw TLSError(
                .configuration, "'\(name.text)' cannot be used as a server's name; see tls.serverName")
        }
        self.ssl = ssl
        bioState = state
        verification = PeerVerification(.server(name: name.text, trustsSystem: context.trustsSystem))
        self.context = context
        self.host = name.text
        self.socket = socket
        verification.attach(to: ssl)
    }

    /// A server's stream.
    package init(server context: TLSContext, socket: consuming TCPSocket) throws(TLSError) {
        let (ssl, state) = try Self.make(context, socket.rawValue)
        SSL_set_accept_state(ssl)
        self.ssl = ssl
        bioState = state
        verification = PeerVerification(.client)
        self.context = context
        self.host = "the client"
        self.socket = socket
        verification.attach(to: ssl)
    }

    private static func make(
        _ context: TLSContext, _ descriptor: Int32
    ) throws(TLSError) -> (OpaquePointer, SocketBIO.StatePointer) {
        ErrorQueue.clear()
        guard let ssl = context.withPointer({ SSL_new($0) }) else {
            throw TLSError(.configuration, "OpenSSL makes no connection: \(ErrorQueue.words())")
        }
        guard let (bio, state) = SocketBIO.make(descriptor) else {
            SSL_free(ssl)
            throw TLSError(.configuration, "OpenSSL makes no BIO: \(ErrorQueue.words())")
        }
        SSL_set_bio(ssl, bio, bio)
        return (ssl, state)
    }

    deinit {
        SSL_free(ssl)
    }

    /// The socket's descriptor, to watch it.
    package var rawValue: Int32 { socket.rawValue }

    package var peerAddress: SocketAddress? { socket.peerAddress }
    package var localAddress: SocketAddress? { socket.localAddress }

    /// Goes on with the handshake. The peer is verified in it, before anything of the application is sent.
    ///
    /// - Throws: why it failed, and the same again whatever is tried afterwards.
    package mutating func handshake() throws(TLSError) -> HandshakeProgress {
        if case .failed(let error) = reading { throw error }
        // What the handshake takes from the socket may hold more than itself.
        isDrained = false
        ErrorQueue.clear()
        let result = SSL_do_handshake(ssl)
        if result == 1 { return .done }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .wants(.read)
        case SSL_ERROR_WANT_WRITE: return .wants(.write)
        case SSL_ERROR_SYSCALL where bioState.pointee.error != 0:
            throw handshakeFailed(transportError("TLS handshake with \(host)"))
        default: throw handshakeFailed(handshakeError())
        }
    }

    private mutating func handshakeFailed(_ error: TLSError) -> TLSError {
        reading = .failed(error)
        return error
    }

    private func handshakeError() -> TLSError {
        if let failure = verification.failure { return TLSError(.certificate, failure) }
        return HandshakeFailure.error(
            ErrorQueue.take(), peer: host, isServer: context.isServer, hasEnded: bioState.pointee.hasEnded)
    }

    private func transportError(_ operation: String) -> TLSError {
        TLSError(transport: SystemError(errno: bioState.pointee.error, operation: operation))
    }

    /// Reads what is there, up to the buffer's size, across as many records as fit.
    ///
    /// When the buffer comes back full there may be more inside, which the socket's readiness does not show: read again.
    package mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(TLSError) -> ReadOutcome {
        switch reading {
        case .open: break
        case .ended(let isClean): return .end(isClean: isClean)
        case .failed(let error): throw error
        }
        guard let base = buffer.baseAddress, !buffer.isEmpty else { return .bytes(0) }
        isDrained = false
        var total = 0
        while total < buffer.count {
            ErrorQueue.clear()
            var count = 0
            if SSL_read_ex(ssl, base + total, buffer.count - total, &count) == 1 {
                total += count
                continue
            }
            isDrained = true
            switch SSL_get_error(ssl, 0) {
            case SSL_ERROR_WANT_READ: return total > 0 ? .bytes(total) : .wouldBlock(.read)
            case SSL_ERROR_WANT_WRITE: return total > 0 ? .bytes(total) : .wouldBlock(.write)
            case SSL_ERROR_ZERO_RETURN: reading = .ended(isClean: true)
            case SSL_ERROR_SYSCALL where bioState.pointee.error != 0:
                reading = .failed(transportError("read from \(peer)"))
            default:
                if bioState.pointee.hasEnded {
                    // RFC 8446 §6.1: without close_notify the data may have been cut.
                    reading = .ended(isClean: false)
                } else {
                    reading = .failed(broken())
                }
            }
            break
        }
        if total > 0 { return .bytes(total) }
        switch reading {
        case .ended(let isClean): return .end(isClean: isClean)
        case .failed(let error): throw error
        case .open: return .bytes(0)
        }
    }

    /// Whether the end of the stream, or its failure, was found behind bytes that were handed out: the next read tells.
    package var hasEnded: Bool {
        if case .open = reading { false } else { true }
    }

    /// Whether bytes wait in here that a read can get at and that the socket's readiness does not show: after a handshake
    /// that brought more than itself, and after a read whose buffer came back full.
    package var hasPendingBytes: Bool {
        !isDrained && SSL_has_pending(ssl) == 1
    }

    /// Writes as much as the kernel takes.
    ///
    /// After `.wouldBlock` the first `committedByteCount` bytes are encrypted already: the next call has to begin with the
    /// same bytes, from whatever place, and nothing may be put in between them.
    /// - Throws: `.connection` when they differ, rather than telling the peer one thing and the caller another.
    package mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TLSError) -> WriteOutcome {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return .bytes(0) }
        switch reading {
        case .open, .ended(isClean: true): break
        case .ended(isClean: false):
            throw writeFailed(TLSError(.connection, "\(peer) ended the connection without close_notify"))
        case .failed(let error): throw writeFailed(error)
        }
        if let committed, !committed.begin(bytes) {
            throw writeFailed(
                TLSError(.connection, "bytes on their way to \(peer) were changed while the socket was full"))
        }
        // Writing goes on with a handshake that is not done, which reads.
        if SSL_in_init(ssl) != 0 { isDrained = false }
        ErrorQueue.clear()
        var count = 0
        if SSL_write_ex(ssl, base, bytes.count, &count) == 1 {
            committed = nil
            return .bytes(count)
        }
        switch SSL_get_error(ssl, 0) {
        case SSL_ERROR_WANT_READ: return .wouldBlock(.read)
        case SSL_ERROR_WANT_WRITE:
            // A message of the handshake (a key update) that does not get through has nothing of ours in it.
            if committed == nil, SSL_in_init(ssl) == 0 { committed = CommittedBytes(bytes) }
            return .wouldBlock(.write)
        case SSL_ERROR_SYSCALL where bioState.pointee.error != 0:
            throw writeFailed(transportError("write to \(peer)"))
        default:
            throw writeFailed(broken())
        }
    }

    /// How many bytes of the write that blocked are encrypted already; 0 when none are.
    package var committedByteCount: Int { committed?.count ?? 0 }

    private mutating func writeFailed(_ error: TLSError) -> TLSError {
        hasWriteFailed = true
        return error
    }

    private func broken() -> TLSError {
        // Reading and writing go on with a handshake that is not done.
        if let failure = verification.failure { return TLSError(.certificate, failure) }
        return HandshakeFailure.broken(ErrorQueue.take(), peer: peer, isServer: context.isServer)
    }

    private var peer: String { socket.peerAddress?.description ?? host }

    /// Tells the peer that nothing more comes (close_notify). Tried once: a peer that takes nothing is not waited for.
    package mutating func shutdown() {
        guard SSL_in_init(ssl) == 0, !hasWriteFailed else { return }
        // A second SSL_shutdown would wait for the peer's close_notify, and drop what comes before it.
        guard SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN == 0 else { return }
        if case .failed = reading { return }
        ErrorQueue.clear()
        SSL_shutdown(ssl)
        ErrorQueue.clear()
    }

    /// Sends FIN below TLS, without close_notify.
    package func shutdownWrite() {
        socket.shutdownWrite()
    }

    /// Makes the closing of the socket a reset.
    package func resetOnClose() {
        socket.resetOnClose()
    }
}
