internal import CSystemShims
internal import Glibc
package import SystemIO

/// How far a handshake has come.
package enum HandshakeProgress: Equatable, Sendable {
    case done
    /// Go on when the socket is ready for this.
    case wants(Interest)
}

/// What a handshake agreed on.
package struct TLSSummary: Equatable, Sendable {
    /// `TLSv1.3`
    package var version: String
    package var cipher: String
    /// The peer's certificate's subject; nil where it showed none.
    package var peerSubject: String?
}

/// TLS over one socket, which it owns. Non-blocking: each call does what it can and says what it waits for.
package struct TLSStream: ~Copyable, @unchecked Sendable {
    // An SSL is used by one owner at a time, which is what ~Copyable says: it may move between threads, not be shared.
    private let ssl: OpaquePointer
    private let bioState: SocketBIO.StatePointer
    private let verification: PeerVerification?
    private let context: TLSContext
    private let socket: TCPSocket
    private let host: String
    private var reading = Reading.open
    private var hasWriteFailed = false

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
        let name = Self.name(context.serverName ?? host)
        let verification = PeerVerification(host: name)
        let (ssl, state) = try Self.make(context, socket.rawValue)
        SSL_set_ex_data(ssl, PeerVerification.index, Unmanaged.passUnretained(verification).toOpaque())
        SSL_set_connect_state(ssl)
        guard Self.expect(name, ssl) else {
            SSL_free(ssl)
            throw TLSError(.configuration, "'\(name)' cannot be used as a server's name")
        }
        self.ssl = ssl
        bioState = state
        self.verification = verification
        self.context = context
        self.host = name
        self.socket = socket
    }

    /// Sets whom the certificate must name, and tells a name to the server.
    private static func expect(_ name: String, _ ssl: OpaquePointer) -> Bool {
        if let address = SocketAddress.literal(name, 0) {
            return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), address.hostText) == 1
        }
        // A wildcard stands for one whole label, and a common name counts for nothing (RFC 9525 §6.3).
        SSL_set_hostflags(
            ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS) | UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        return SSL_set1_host(ssl, name) == 1 && shim_set_host_name(ssl, name) == 1
    }

    /// A server's stream.
    package init(server context: TLSContext, socket: consuming TCPSocket) throws(TLSError) {
        let (ssl, state) = try Self.make(context, socket.rawValue)
        SSL_set_accept_state(ssl)
        self.ssl = ssl
        bioState = state
        verification = nil
        self.context = context
        self.host = "the client"
        self.socket = socket
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

    /// The host as certificates know it: without brackets, zone and trailing dot.
    private static func name(_ host: String) -> String {
        var name = Substring(host)
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        if name.contains(":"), let zone = name.firstIndex(of: "%") { name = name[..<zone] }
        if name.hasSuffix("."), name.count > 1 { name = name.dropLast() }
        return String(name)
    }

    deinit {
        SSL_free(ssl)
    }

    /// The socket's descriptor, to watch it.
    package var rawValue: Int32 { socket.rawValue }

    package var peerAddress: SocketAddress? { socket.peerAddress }
    package var localAddress: SocketAddress? { socket.localAddress }

    /// Goes on with the handshake. The peer is verified in it, before anything of the application is sent.
    package mutating func handshake() throws(TLSError) -> HandshakeProgress {
        ErrorQueue.clear()
        let result = SSL_do_handshake(ssl)
        if result == 1 { return .done }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .wants(.read)
        case SSL_ERROR_WANT_WRITE: return .wants(.write)
        case SSL_ERROR_SYSCALL where bioState.pointee.error != 0:
            throw transportError("TLS handshake with \(host)")
        default: throw handshakeError()
        }
    }

    private func handshakeError() -> TLSError {
        if let failure = verification?.failure { return TLSError(.certificate, failure) }
        let entries = ErrorQueue.take()
        if bioState.pointee.hasEnded {
            return TLSError(.handshake, "\(host) closed the connection in the middle of the TLS handshake")
        }
        guard let first = entries.first else {
            return TLSError(.handshake, "the TLS handshake with \(host) failed")
        }
        switch first.reason {
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_UNEXPECTED_MESSAGE,
            SSL_R_PACKET_LENGTH_TOO_LONG,
            SSL_R_RECORD_LENGTH_MISMATCH, SSL_R_BAD_RECORD_TYPE:
            return TLSError(
                .handshake,
                "what \(host) sends is not TLS (\(first.text)); is the port right, or does it want ws://?")
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
            return TLSError(
                .handshake,
                "\(host) speaks no version of TLS between tls.minimumVersion and tls.maximumVersion")
        default:
            return TLSError(.handshake, "the TLS handshake with \(host) failed: \(first.text)")
        }
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
        var total = 0
        while total < buffer.count {
            ErrorQueue.clear()
            var count = 0
            if SSL_read_ex(ssl, base + total, buffer.count - total, &count) == 1 {
                total += count
                continue
            }
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
                    reading = .failed(TLSError(.connection, "TLS with \(peer) broke: \(ErrorQueue.words())"))
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

    /// Writes as much as the kernel takes.
    package mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TLSError) -> WriteOutcome {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return .bytes(0) }
        ErrorQueue.clear()
        var count = 0
        if SSL_write_ex(ssl, base, bytes.count, &count) == 1 { return .bytes(count) }
        switch SSL_get_error(ssl, 0) {
        case SSL_ERROR_WANT_READ: return .wouldBlock(.read)
        case SSL_ERROR_WANT_WRITE: return .wouldBlock(.write)
        case SSL_ERROR_SYSCALL where bioState.pointee.error != 0:
            hasWriteFailed = true
            throw transportError("write to \(peer)")
        default:
            hasWriteFailed = true
            throw TLSError(.connection, "TLS with \(peer) broke: \(ErrorQueue.words())")
        }
    }

    private var peer: String { socket.peerAddress?.description ?? host }

    /// Tells the peer that nothing more comes (close_notify). Tried once: a peer that takes nothing is not waited for.
    package mutating func shutdown() {
        guard SSL_in_init(ssl) == 0, !hasWriteFailed else { return }
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

    /// What the finished handshake agreed on.
    package var summary: TLSSummary {
        let certificate = SSL_get1_peer_certificate(ssl)
        defer { X509_free(certificate) }
        return TLSSummary(
            version: String(cString: SSL_get_version(ssl)),
            cipher: SSL_get_current_cipher(ssl).map { String(cString: SSL_CIPHER_get_name($0)) } ?? "",
            peerSubject: certificate.map(Certificate.subject))
    }

    /// The name the client asked for (SNI), on a server's stream.
    package var requestedServerName: String? {
        SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
    }
}

extension SocketAddress {
    /// The address without its port.
    fileprivate var hostText: String {
        switch self {
        case .v4(let address, _): address.description
        case .v6(let address, _, _): address.description
        default: ""
        }
    }
}
