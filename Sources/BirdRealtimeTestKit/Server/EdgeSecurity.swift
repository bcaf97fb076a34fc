internal import SystemTLS

/// The certificate of a secure edge and the authority that signed it, made anew for each edge.
struct EdgeSecurity {
    let authorityPEM: String
    let context: TLSContext

    init(_ certificate: LoopbackEdge.Certificate) throws {
        let authority = try CertificateAuthority(name: "loopback edge")
        authorityPEM = authority.certificatePEM
        let addresses = ["127.0.0.1", "::1"]
        let identity =
            switch certificate {
            case .valid: try authority.issue(names: ["localhost"], addresses: addresses)
            case .wrongName: try authority.issue(names: ["elsewhere.test"])
            case .expired: try authority.issue(names: ["localhost"], addresses: addresses, days: -2...(-1))
            }
        context = try TLSContext.server(
            certificateChainPEM: identity.certificateChainPEM, privateKeyPEM: identity.privateKeyPEM)
    }
}

extension EdgeSignature {
    init(appKey: String, secret: String) {
        let key = Array(secret.utf8)
        self.init(appKey: appKey) { text in
            hmacSHA256(key: key, Array(text.utf8)).reduce(into: "") { hex, byte in
                hex += (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
    }
}
