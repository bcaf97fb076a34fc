import SystemTLS
import Testing

@Suite struct TLSContextTests {
    @Test("versions in the wrong order are refused")
    func versions() throws {
        var options = TLSOptions()
        options.minimumVersion = .tls13
        options.maximumVersion = .tls12
        let error = #expect(throws: TLSError.self) { _ = try TLSContext.client(options) }
        #expect(error?.kind == .configuration)
        #expect(error?.message.contains("tls.minimumVersion") == true)
    }

    @Test("a key of another certificate is refused, on both sides")
    func otherKey() throws {
        let one = try CertificateAuthority.selfSigned(names: ["a.test"])
        let two = try CertificateAuthority.selfSigned(names: ["a.test"])
        expectRefusal("does not fit", certificate: one.certificateChainPEM, key: two.privateKeyPEM)
    }

    @Test("what is no certificate or no key is refused, on both sides")
    func noPEM() throws {
        let identity = try CertificateAuthority.selfSigned(names: ["a.test"])
        expectRefusal("no certificate", certificate: "", key: identity.privateKeyPEM)
        expectRefusal("private key", certificate: identity.certificateChainPEM, key: "")
        expectRefusal(
            "private key", certificate: identity.certificateChainPEM, key: identity.certificateChainPEM)
    }

    @Test("an encrypted key is refused, and nobody is asked for its passphrase")
    func encryptedKey() throws {
        let identity = try CertificateAuthority.selfSigned(names: ["a.test"])
        let label = "EC PRIVATE KEY"
        let key = """
            -----BEGIN \(label)-----
            Proc-Type: 4,ENCRYPTED
            DEK-Info: AES-128-CBC,000102030405060708090A0B0C0D0E0F

            AAECAwQFBgcICQoLDA0ODwABAgMEBQYHCAkKCwwNDg8=
            -----END \(label)-----

            """
        expectRefusal("without a passphrase", certificate: identity.certificateChainPEM, key: key)
    }

    /// As a server's identity and as a client's.
    private func expectRefusal(
        _ words: String, certificate: String, key: String, _ location: SourceLocation = #_sourceLocation
    ) {
        let server = #expect(throws: TLSError.self, sourceLocation: location) {
            _ = try TLSContext.server(certificateChainPEM: certificate, privateKeyPEM: key)
        }
        var options = TLSOptions()
        options.clientCertificate = .init(certificateChainPEM: certificate, privateKeyPEM: key)
        let client = #expect(throws: TLSError.self, sourceLocation: location) {
            _ = try TLSContext.client(options)
        }
        #expect(server?.kind == .configuration, sourceLocation: location)
        #expect(
            server?.message.contains(words) == true, "\(String(describing: server))", sourceLocation: location
        )
        #expect(client?.message.contains(words) == true, sourceLocation: location)
        #expect(client?.message.contains("tls.clientCertificate") == true, sourceLocation: location)
    }
}
