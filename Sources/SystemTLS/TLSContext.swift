internal import CSystemShims

/// One SSL_CTX: configured once, shared by any number of connections and threads.
package final class TLSContext: Sendable {
    // An SSL_CTX counts its references with atomics and is not changed once it is configured.
    private nonisolated(unsafe) let pointer: OpaquePointer
    package let isServer: Bool
    /// A client's option: whom to look for instead of the URL's host.
    package let serverName: String?
    /// Whether a client relies on the authorities of the system, for messages.
    let trustsSystem: Bool

    private init(_ method: OpaquePointer?, isServer: Bool, _ options: TLSOptions) throws(TLSError) {
        ErrorQueue.clear()
        guard let pointer = SSL_CTX_new(method) else {
            throw TLSError(.configuration, "OpenSSL makes no context: \(ErrorQueue.words())")
        }
        self.pointer = pointer
        self.isServer = isServer
        serverName = isServer ? nil : options.serverName
        trustsSystem = options.trust == .system
        guard options.minimumVersion <= options.maximumVersion else {
            throw TLSError(.configuration, "tls.minimumVersion is above tls.maximumVersion")
        }
        shim_ctx_set_min_version(pointer, options.minimumVersion.number)
        shim_ctx_set_max_version(pointer, options.maximumVersion.number)
        shim_ctx_set_safe_options(pointer)
        // Memory of idle connections goes back; writes may be partial and repeated from another place.
        let mode =
            SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
        shim_ctx_set_mode(pointer, Int(mode))
        // One read of the socket brings several records.
        shim_ctx_set_read_ahead(pointer, 1)
        SSL_CTX_set_default_read_buffer_len(pointer, 64 << 10)
        shim_ctx_set_session_cache(pointer, Int(SSL_SESS_CACHE_OFF))
    }

    deinit {
        SSL_CTX_free(pointer)
    }

    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        body(pointer)
    }

    /// A client's context.
    ///
    /// - Throws: `.configuration` that names the option that cannot be used.
    package static func client(_ options: TLSOptions) throws(TLSError) -> TLSContext {
        let context = try TLSContext(TLS_client_method(), isServer: false, options)
        SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, PeerVerification.callback)
        try TrustStore.load(options.trust, into: context.pointer)
        if let identity = options.clientCertificate {
            try context.identify(
                identity.certificateChainPEM, identity.privateKeyPEM, as: "tls.clientCertificate")
        }
        return context
    }

    /// A server's context.
    ///
    /// - Parameters:
    ///   - certificateChainPEM: the server's certificate, followed by those that lead to the authority.
    ///   - clientAuthoritiesPEM: when given, every client has to show a certificate that one of these signed.
    package static func server(
        certificateChainPEM: String, privateKeyPEM: String, clientAuthoritiesPEM: String? = nil,
        minimumVersion: TLSOptions.Version = .tls12, maximumVersion: TLSOptions.Version = .tls13
    ) throws(TLSError) -> TLSContext {
        var versions = TLSOptions()
        versions.minimumVersion = minimumVersion
        versions.maximumVersion = maximumVersion
        let context = try TLSContext(TLS_server_method(), isServer: true, versions)
        try context.identify(certificateChainPEM, privateKeyPEM, as: "the server")
        // Sessions of another context are never taken up.
        SSL_CTX_set_session_id_context(context.pointer, "SystemTLS", 9)
        guard let clientAuthoritiesPEM else { return context }
        try TrustStore.load(.pem(clientAuthoritiesPEM), into: context.pointer)
        for authority in try Certificate.all(inPEM: clientAuthoritiesPEM, of: "the clients' authorities") {
            _ = authority.withPointer { SSL_CTX_add_client_CA(context.pointer, $0) }
        }
        SSL_CTX_set_verify(
            context.pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, PeerVerification.callback)
        return context
    }

    /// Sets what this side shows.
    private func identify(_ chainPEM: String, _ keyPEM: String, as who: String) throws(TLSError) {
        let certificates = try Certificate.all(inPEM: chainPEM, of: "\(who): the certificate chain")
        let key = try PrivateKey(pem: keyPEM, of: "\(who): the private key")
        ErrorQueue.clear()
        guard certificates[0].withPointer({ SSL_CTX_use_certificate(pointer, $0) }) == 1 else {
            throw TLSError(
                .configuration, "\(who): the certificate cannot be used: \(ErrorQueue.words())")
        }
        for certificate in certificates.dropFirst() {
            certificate.withPointer { issuer in
                // The context takes one reference over.
                X509_up_ref(issuer)
                if shim_ctx_add_chain(pointer, issuer) != 1 { X509_free(issuer) }
            }
        }
        guard key.withPointer({ SSL_CTX_use_PrivateKey(pointer, $0) }) == 1,
            SSL_CTX_check_private_key(pointer) == 1
        else {
            throw TLSError(
                .configuration, "\(who): the key does not fit the certificate: \(ErrorQueue.words())")
        }
    }
}

extension TLSOptions.Version {
    fileprivate var number: Int32 {
        switch self {
        case .tls12: TLS1_2_VERSION
        case .tls13: TLS1_3_VERSION
        }
    }
}
