internal import CSystemShims
internal import Glibc

/// A certificate authority made on the fly, for tests and the loopback edge. Its keys live as long as it does.
package struct CertificateAuthority {
    /// A certificate's chain and key, as PEM texts.
    package struct Identity: Sendable, Equatable {
        package var certificateChainPEM: String
        package var privateKeyPEM: String
    }

    /// What to trust: the authority's own certificate.
    package let certificatePEM: String
    private let certificate: Certificate
    private let key: PrivateKey
    /// What those that trust only the root need beside a certificate; empty for a root.
    private let chainPEM: String

    /// A root: signed by itself.
    package init(name: String) throws(TLSError) {
        key = try Self.newKey()
        certificate = try Self.certificate(
            commonName: name, names: "", key: key, issuer: nil, issuerKey: key, days: -1...3650,
            isAuthority: true)
        certificatePEM = certificate.pem
        chainPEM = ""
    }

    /// An authority below another one; the chains of what it signs lead up to the root, without the root.
    package init(name: String, signedBy parent: CertificateAuthority) throws(TLSError) {
        key = try Self.newKey()
        certificate = try Self.certificate(
            commonName: name, names: "", key: key, issuer: parent.certificate, issuerKey: parent.key,
            days: -1...3650, isAuthority: true)
        certificatePEM = certificate.pem
        chainPEM = certificatePEM + parent.chainPEM
    }

    /// Lets a certificate sign that is no authority's, which whoever verifies the result has to refuse.
    package init(posingAs identity: Identity) throws(TLSError) {
        key = try PrivateKey(pem: identity.privateKeyPEM, of: "the key")
        certificate = try Certificate.all(inPEM: identity.certificateChainPEM, of: "the certificate")[0]
        certificatePEM = certificate.pem
        chainPEM = identity.certificateChainPEM
    }

    /// What a directory of authorities calls this one, as `openssl rehash` names files.
    package var hashedFileName: String {
        let hash = String(certificate.withPointer { X509_subject_name_hash($0) }, radix: 16)
        return String(repeating: "0", count: 8 - hash.count) + hash + ".0"
    }

    /// Signs a certificate for a server, or for a client.
    ///
    /// - Parameters:
    ///   - names: DNS names, `*.a.test` too. Without names and addresses the certificate has a common name alone.
    ///   - days: from when until when it is valid, in days from now.
    package func issue(
        names: [String] = [], addresses: [String] = [], commonName: String? = nil,
        days: ClosedRange<Int> = -1...30
    ) throws(TLSError) -> Identity {
        let key = try Self.newKey()
        let certificate = try Self.certificate(
            commonName: commonName ?? names.first ?? addresses.first ?? "server",
            names: Self.list(names, addresses), key: key, issuer: certificate, issuerKey: self.key,
            days: days,
            isAuthority: false)
        return Identity(certificateChainPEM: certificate.pem + chainPEM, privateKeyPEM: key.pem)
    }

    /// A certificate that is signed by itself.
    package static func selfSigned(
        names: [String] = [], addresses: [String] = []
    ) throws(TLSError) -> Identity {
        let key = try newKey()
        let certificate = try certificate(
            commonName: names.first ?? addresses.first ?? "server", names: list(names, addresses), key: key,
            issuer: nil,
            issuerKey: key, days: -1...30, isAuthority: false)
        return Identity(certificateChainPEM: certificate.pem, privateKeyPEM: key.pem)
    }

    private static func list(_ names: [String], _ addresses: [String]) -> String {
        (names.map { "DNS:\($0)" } + addresses.map { "IP:\($0)" }).joined(separator: ",")
    }

    private static func newKey() throws(TLSError) -> PrivateKey {
        ErrorQueue.clear()
        guard let key = shim_ec_p256_key() else {
            throw TLSError(.configuration, "OpenSSL makes no key: \(ErrorQueue.words())")
        }
        return PrivateKey(owning: key)
    }

    private static func certificate(
        commonName: String, names: String, key: PrivateKey, issuer: Certificate?, issuerKey: PrivateKey,
        days: ClosedRange<Int>, isAuthority: Bool
    ) throws(TLSError) -> Certificate {
        ErrorQueue.clear()
        guard let pointer = X509_new() else { throw TLSError(.configuration, "no memory for a certificate") }
        let certificate = Certificate(owning: pointer)
        X509_set_version(pointer, 2)
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(pointer), UInt64.random(in: 1...UInt64(Int64.max)))
        let day = 86_400
        X509_gmtime_adj(X509_getm_notBefore(pointer), days.lowerBound * day)
        X509_gmtime_adj(X509_getm_notAfter(pointer), days.upperBound * day)
        X509_NAME_add_entry_by_txt(
            X509_get_subject_name(pointer), "CN", MBSTRING_UTF8, Array(commonName.utf8),
            Int32(clamping: commonName.utf8.count), -1, 0)
        _ = key.withPointer { X509_set_pubkey(pointer, $0) }
        let issuerPointer = issuer?.withPointer { $0 } ?? pointer
        X509_set_issuer_name(pointer, X509_get_subject_name(issuerPointer))
        var extensions: [(Int32, String)] = [
            (NID_basic_constraints, isAuthority ? "critical,CA:TRUE" : "CA:FALSE"),
            (NID_subject_key_identifier, "hash"),
        ]
        if issuer != nil { extensions.append((NID_authority_key_identifier, "keyid")) }
        if isAuthority { extensions.append((NID_key_usage, "critical,keyCertSign,cRLSign")) }
        if !names.isEmpty { extensions.append((NID_subject_alt_name, names)) }
        for (identifier, value) in extensions {
            var context = X509V3_CTX()
            shim_x509v3_context(&context, issuerPointer, pointer)
            guard let made = X509V3_EXT_conf_nid(nil, &context, identifier, value) else {
                throw TLSError(.configuration, "a certificate cannot have '\(value)': \(ErrorQueue.words())")
            }
            X509_add_ext(pointer, made, -1)
            X509_EXTENSION_free(made)
        }
        guard issuerKey.withPointer({ X509_sign(pointer, $0, EVP_sha256()) }) > 0 else {
            throw TLSError(.configuration, "the certificate cannot be signed: \(ErrorQueue.words())")
        }
        return certificate
    }
}
