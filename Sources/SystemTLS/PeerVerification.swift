internal import CSystemShims
internal import Glibc

/// Why a peer's certificate was refused, gathered while OpenSSL verifies it: only then is the certificate at hand.
final class PeerVerification {
    /// Whose certificate is looked at.
    enum Peer {
        /// A server that should be `name`.
        case server(name: String, trustsSystem: Bool)
        case client
    }

    private(set) var failure: String?
    private let peer: Peer

    init(_ peer: Peer) {
        self.peer = peer
    }

    /// Called by OpenSSL for each certificate of the chain. It notes, and leaves the verdict as it is.
    static let callback: @convention(c) (Int32, OpaquePointer?) -> Int32 = { verdict, store in
        guard verdict != 1, let store,
            let ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()),
            let data = SSL_get_ex_data(OpaquePointer(ssl), index)
        else { return verdict }
        // Sound: the stream that owns the SSL keeps this object for as long.
        let verification = Unmanaged<PeerVerification>.fromOpaque(data).takeUnretainedValue()
        if verification.failure == nil { verification.failure = verification.words(store) }
        return verdict
    }

    func attach(to ssl: OpaquePointer) {
        SSL_set_ex_data(ssl, Self.index, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Where the SSL keeps its PeerVerification: OpenSSL's slot for applications.
    private static let index: Int32 = 0

    private func words(_ store: OpaquePointer) -> String {
        let code = X509_STORE_CTX_get_error(store)
        let depth = X509_STORE_CTX_get_error_depth(store)
        let name: String
        switch peer {
        case .server(let host, _): name = host
        case .client: name = "the client"
        }
        guard let certificate = X509_STORE_CTX_get_current_cert(store) else {
            return "\(name) sent no certificate that can be verified: \(Self.reason(code))"
        }
        let which =
            "\(depth == 0 ? "the certificate" : "the issuing certificate (depth \(depth))") "
            + "'\(Certificate.subject(certificate))' of \(name)"
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            let date = bytesOfMemoryBIO { ASN1_TIME_print($0, X509_get0_notAfter(certificate)) }
            return "\(which) expired on \(date); it must be renewed (or this machine's clock is wrong)"
        case X509_V_ERR_CERT_NOT_YET_VALID:
            let date = bytesOfMemoryBIO { ASN1_TIME_print($0, X509_get0_notBefore(certificate)) }
            return "\(which) is not valid before \(date); is this machine's clock right?"
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            return "\(which) is not for '\(name)' but for \(Self.list(Certificate.names(certificate))); "
                + "connect to one of those, or set tls.serverName"
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return "\(which) is self-signed and not trusted\(mend("it"))"
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            return "\(which) is an authority that is not trusted\(mend("it"))"
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            return "\(which) is signed by an authority that is not known"
                + mend("that authority", "or make the server send its whole chain")
        case X509_V_ERR_CERT_SIGNATURE_FAILURE:
            return
                "\(which) has a wrong signature: it was changed, or signed by another authority that has the "
                + "name of one that is trusted\(mend("the right one"))"
        default:
            return "\(which) was refused: \(Self.reason(code))"
        }
    }

    /// What makes the certificate trusted, where this side has a say.
    private func mend(_ what: String, _ otherwise: String? = nil) -> String {
        guard case .server(_, let trustsSystem) = peer else { return "" }
        if trustsSystem, TrustStore.isSystemEmpty {
            return "; this machine knows no certificate authorities at all: install its package of them "
                + "(ca-certificates), or set tls.trust"
        }
        return "; trust \(what) with tls.trust = .file(…) or .pem(…)" + (otherwise.map { ", \($0)" } ?? "")
    }

    /// A certificate may have hundreds of names: a sentence takes some.
    private static func list(_ names: [String]) -> String {
        if names.isEmpty { return "no name at all (it needs a subject alternative name)" }
        let shown = names.prefix(8).joined(separator: ", ")
        return names.count > 8 ? "\(shown) and \(names.count - 8) more" : shown
    }

    private static func reason(_ code: Int32) -> String {
        String(cString: X509_verify_cert_error_string(Int(code)))
    }
}
