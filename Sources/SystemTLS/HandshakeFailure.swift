internal import CSystemShims

/// OpenSSL's reasons in words that say what to mend.
enum HandshakeFailure {
    /// A handshake that failed without the certificate being the reason.
    static func error(_ entries: [ErrorQueue.Entry], peer: String, isServer: Bool, hasEnded: Bool) -> TLSError
    {
        guard let first = entries.first(where: { $0.library == ERR_LIB_SSL }) ?? entries.first else {
            return TLSError(.handshake, ended(peer, hasEnded))
        }
        if let alert = first.alert { return refused(alert, peer: peer, isServer: isServer) }
        switch first.reason {
        case SSL_R_UNEXPECTED_EOF_WHILE_READING:
            return TLSError(.handshake, ended(peer, hasEnded))
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST,
            SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_RECORD_LENGTH_MISMATCH, SSL_R_BAD_RECORD_TYPE:
            let mend = isServer ? "" : "; is the port right, or does it want ws://?"
            return TLSError(.handshake, "\(peer) does not speak TLS (\(first.text))\(mend)")
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_VERSION_TOO_HIGH:
            return TLSError(.handshake, version(peer, isServer))
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            return TLSError(.certificate, "\(peer) sent no certificate, and one is asked for")
        default:
            return TLSError(.handshake, "the TLS handshake with \(peer) failed: \(first.text)")
        }
    }

    /// The peer's alert (RFC 8446 §6.2), in the handshake or, in TLS 1.3 on a client's certificate, after it.
    static func refused(_ alert: Int32, peer: String, isServer: Bool) -> TLSError {
        let name = SSL_alert_desc_string_long(alert).map { String(cString: $0) } ?? "unknown"
        let what = "\(peer) refused: TLS alert \(alert) (\(name))"
        return switch alert {
        case SSL3_AD_HANDSHAKE_FAILURE where !isServer:
            TLSError(.handshake, "\(what); it may want another version or cipher, or a tls.clientCertificate")
        case SSL3_AD_BAD_CERTIFICATE, SSL3_AD_UNSUPPORTED_CERTIFICATE, SSL3_AD_CERTIFICATE_REVOKED,
            SSL3_AD_CERTIFICATE_EXPIRED, SSL3_AD_CERTIFICATE_UNKNOWN, TLS1_AD_UNKNOWN_CA,
            TLS13_AD_CERTIFICATE_REQUIRED:
            TLSError(.certificate, isServer ? what : "\(what); see tls.clientCertificate")
        case TLS1_AD_PROTOCOL_VERSION: TLSError(.handshake, "\(what): \(version(peer, isServer))")
        case TLS1_AD_UNRECOGNIZED_NAME:
            TLSError(.handshake, "\(what): it does not serve this name; see tls.serverName")
        default: TLSError(.handshake, what)
        }
    }

    /// What broke a connection after its handshake.
    static func broken(_ entries: [ErrorQueue.Entry], peer: String, isServer: Bool) -> TLSError {
        if let alert = entries.lazy.compactMap(\.alert).first {
            return refused(alert, peer: peer, isServer: isServer)
        }
        let why = entries.isEmpty ? "no reason given" : entries.map(\.text).joined(separator: "; ")
        return TLSError(.connection, "TLS with \(peer) broke: \(why)")
    }

    private static func ended(_ peer: String, _ hasEnded: Bool) -> String {
        hasEnded
            ? "\(peer) closed the connection in the middle of the TLS handshake; does it speak TLS on this port?"
            : "the TLS handshake with \(peer) failed"
    }

    private static func version(_ peer: String, _ isServer: Bool) -> String {
        isServer
            ? "\(peer) speaks no version of TLS that is allowed here"
            : "\(peer) speaks no version of TLS between tls.minimumVersion and tls.maximumVersion"
    }
}

extension ErrorQueue.Entry {
    /// The peer's alert that this error stands for: OpenSSL adds a thousand to its number.
    fileprivate var alert: Int32? {
        let offset = Int32(SSL_AD_REASON_OFFSET)
        guard library == ERR_LIB_SSL, (offset...(offset + 255)).contains(reason) else { return nil }
        return reason - offset
    }
}
