import SystemTLS

/// A certificate for this machine and the authority that signed it, made on the spot: for tests and demonstrations.
public struct LoopbackIdentity: Sendable {
    /// What a client has to trust, as PEM text.
    public let authorityPEM: String
    /// What a server shows.
    public let certificateChainPEM: String
    /// The key that belongs to the certificate.
    public let privateKeyPEM: String

    /// - Parameter names: names the certificate is for, beside `localhost`, 127.0.0.1 and ::1.
    /// - Throws: `WebSocketError` when OpenSSL cannot make one.
    public init(names: [String] = []) throws(WebSocketError) {
        do throws(TLSError) {
            let authority = try CertificateAuthority(name: "loopback authority")
            let identity = try authority.issue(names: ["localhost"] + names, addresses: ["127.0.0.1", "::1"])
            authorityPEM = authority.certificatePEM
            certificateChainPEM = identity.certificateChainPEM
            privateKeyPEM = identity.privateKeyPEM
        } catch {
            throw WebSocketError(error, phase: .securing)
        }
    }
}
