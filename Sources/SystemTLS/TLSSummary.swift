internal import CSystemShims

/// What a handshake agreed on.
package struct TLSSummary: Equatable, Sendable {
    /// `TLSv1.3`
    package var version: String
    /// `TLS_AES_256_GCM_SHA384`
    package var cipher: String
    /// The peer's certificate's subject; nil where it showed none.
    package var peerSubject: String?
}

extension TLSStream {
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

    /// Asks for fresh keys in both directions (RFC 8446 §4.6.3), with the next write. False where TLS 1.2 is spoken.
    package func updateKeys() -> Bool {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        return SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1
    }
}
