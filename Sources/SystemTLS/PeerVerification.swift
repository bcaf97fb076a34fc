internal import CSystemShims
internal import Glibc

/// Why a peer's certificate was refused, gathered while OpenSSL verifies it: only then is the certificate at hand.
final class PeerVerification {
    private(set) var failure: String?
    let host: String

    init(host: String) {
        self.host = host
    }

    /// Called by OpenSSL for each certificate of the chain. It notes, and leaves the verdict as it is.
    static let callback: @convention(c) (Int32, OpaquePointer?) -> Int32 = { verdict, store in
        guard verdict != 1, let store,
            let ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()),
            let data = SSL_get_ex_data(OpaquePointer(ssl), index)
        else { return verdict }
        // The stream that owns the SSL keeps this object for as long.
        let verification = Unmanaged<PeerVerification>.fromOpaque(data).takeUnretainedValue()
        if verification.failure == nil { verification.failure = verification.words(store) }
        return verdict
    }

    /// Where the SSL keeps its PeerVerification: OpenSSL's slot for applications.
    static let index: Int32 = 0

    private func words(_ store: OpaquePointer) -> String {
        let code = X509_STORE_CTX_get_error(store)
        let depth = X509_STORE_CTX_get_error_depth(store)
        guard let certificate = X509_STORE_CTX_get_current_cert(store) else {
            return "the server sent no certificate that can be verified: \(Self.reason(code))"
        }
        let which =
            "\(depth == 0 ? "the certificate" : "the issuing certificate (depth \(depth))") "
            + "'\(Certificate.subject(certificate))'"
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            let date = bytesOfMemoryBIO { ASN1_TIME_print($0, X509_get0_notAfter(certificate)) }
            return "\(which) expired on \(date); the server must renew it (or this machine's clock is wrong)"
        case X509_V_ERR_CERT_NOT_YET_VALID:
            let date = bytesOfMemoryBIO { ASN1_TIME_print($0, X509_get0_notBefore(certificate)) }
            return "\(which) is not valid before \(date); is this machine's clock right?"
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            let names = Certificate.names(certificate)
            let list =
                names.isEmpty
                ? "no name at all (a subject alternative name is needed)" : names.joined(separator: ", ")
            return
                "\(which) is not for '\(host)' but for \(list); connect to one of those, or set tls.serverName"
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return "\(which) is self-signed and not trusted; trust it with tls.trust (.file, .pem)"
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            return "\(which) is an authority that is not trusted; trust it with tls.trust (.file, .pem)"
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            return
                "\(which) is signed by an authority that is not trusted; trust that authority with tls.trust "
                + "(.file, .pem), or make the server send its whole chain"
        default:
            return "\(which) was refused: \(Self.reason(code))"
        }
    }

    private static func reason(_ code: Int32) -> String {
        String(cString: X509_verify_cert_error_string(Int(code)))
    }
}
