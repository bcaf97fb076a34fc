internal import CSystemShims
internal import Glibc

/// One SSL_CTX: configured once, shared by any number of connections and threads.
package final class TLSContext: Sendable {
    // An SSL_CTX counts its references with atomics and is not changed once it is configured.
    private nonisolated(unsafe) let pointer: OpaquePointer
    package let isServer: Bool
    package let serverName: String?

    private init(_ method: OpaquePointer?, isServer: Bool, serverName: String?) throws(TLSError) {
        ErrorQueue.clear()
        guard let pointer = SSL_CTX_new(method) else {
            throw TLSError(.configuration, "OpenSSL makes no context: \(ErrorQueue.words())")
        }
        self.pointer = pointer
        self.isServer = isServer
        self.serverName = serverName
        shim_ctx_set_min_version(pointer, TLS1_2_VERSION)
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
        let context = try TLSContext(TLS_client_method(), isServer: false, serverName: options.serverName)
        guard options.minimumVersion <= options.maximumVersion else {
            throw TLSError(.configuration, "tls.minimumVersion is above tls.maximumVersion")
        }
        shim_ctx_set_min_version(context.pointer, options.minimumVersion.number)
        shim_ctx_set_max_version(context.pointer, options.maximumVersion.number)
        SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, PeerVerification.callback)
        try context.trust(options.trust)
        return context
    }

    /// A server's context.
    ///
    /// - Parameter certificateChainPEM: the server's certificate, followed by those that lead to the authority.
    package static func server(
        certificateChainPEM: String, privateKeyPEM: String
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(TLS_server_method(), isServer: true, serverName: nil)
        ErrorQueue.clear()
        var certificates = try Certificate.all(
            inPEM: certificateChainPEM, of: "the server's certificate chain")
        let leaf = certificates.removeFirst()
        guard leaf.withPointer({ SSL_CTX_use_certificate(context.pointer, $0) }) == 1 else {
            throw TLSError(.configuration, "the server's certificate cannot be used: \(ErrorQueue.words())")
        }
        for certificate in certificates {
            certificate.withPointer { pointer in
                // The context takes one reference over.
                X509_up_ref(pointer)
                if shim_ctx_add_chain(context.pointer, pointer) != 1 { X509_free(pointer) }
            }
        }
        let key = try PrivateKey(pem: privateKeyPEM)
        guard key.withPointer({ SSL_CTX_use_PrivateKey(context.pointer, $0) }) == 1,
            SSL_CTX_check_private_key(context.pointer) == 1
        else {
            throw TLSError(
                .configuration, "the server's key does not fit its certificate: \(ErrorQueue.words())")
        }
        return context
    }

    private func trust(_ trust: TLSOptions.Trust) throws(TLSError) {
        ErrorQueue.clear()
        switch trust {
        case .system:
            guard SSL_CTX_set_default_verify_paths(pointer) == 1 else {
                throw TLSError(
                    .configuration,
                    "the system's certificate authorities cannot be loaded: \(ErrorQueue.words())")
            }
        case .file(let path):
            guard SSL_CTX_load_verify_file(pointer, path) == 1 else {
                throw TLSError(
                    .configuration,
                    "tls.trust: the file \(path) cannot be loaded as PEM: \(ErrorQueue.words())")
            }
        case .directory(let path):
            var information = stat()
            guard stat(path, &information) == 0, information.st_mode & S_IFMT == S_IFDIR,
                SSL_CTX_load_verify_dir(pointer, path) == 1
            else {
                throw TLSError(.configuration, "tls.trust: \(path) is not a directory that can be read")
            }
        case .pem(let text):
            let store = SSL_CTX_get_cert_store(pointer)
            for certificate in try Certificate.all(inPEM: text, of: "tls.trust") {
                _ = certificate.withPointer { X509_STORE_add_cert(store, $0) }
            }
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
