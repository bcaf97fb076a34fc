import SystemTLS
import Testing

/// Servers that ask who the client is (mutual TLS).
@Suite(.timeLimit(.minutes(2))) struct ClientCertificateTests {
    private static let versions = [TLSOptions.Version.tls12, .tls13]

    /// A client with this certificate, and a server that asks for one of `members`.
    private func pair(
        _ identity: CertificateAuthority.Identity?, members: CertificateAuthority,
        _ version: TLSOptions.Version
    ) throws -> TLSPair {
        let authority = try CertificateAuthority(name: "authority")
        let server = try authority.issue(names: ["a.test"])
        var options = TLSOptions()
        options.trust = .pem(authority.certificatePEM)
        options.clientCertificate = identity.map {
            .init(certificateChainPEM: $0.certificateChainPEM, privateKeyPEM: $0.privateKeyPEM)
        }
        return try TLSPair(
            .client(options),
            .server(
                certificateChainPEM: server.certificateChainPEM, privateKeyPEM: server.privateKeyPEM,
                clientAuthoritiesPEM: members.certificatePEM, minimumVersion: version, maximumVersion: version
            )
        )
    }

    @Test("a client shows who it is, over intermediate authorities too", arguments: versions, [false, true])
    func accepted(_ version: TLSOptions.Version, _ isIndirect: Bool) throws {
        let members = try CertificateAuthority(name: "members")
        let signer = isIndirect ? try CertificateAuthority(name: "club", signedBy: members) : members
        var pair = try pair(signer.issue(commonName: "member 7"), members: members, version)
        try pair.connect()
        let subject = pair.server.summary.peerSubject
        #expect(subject == "CN = member 7")
        try pair.client.put("hello")
        let heard = try pair.server.take(exactly: 5)
        #expect(text(heard) == "hello")
    }

    @Test("a client without a certificate is told which option it lacks", arguments: versions)
    func missing(_ version: TLSOptions.Version) throws {
        try refused(nil, version, serverSays: "sent no certificate")
    }

    @Test("a client of another authority is refused, and the server says why", arguments: versions)
    func stranger(_ version: TLSOptions.Version) throws {
        let identity = try CertificateAuthority(name: "others").issue(commonName: "stranger")
        try refused(identity, version, serverSays: "'CN = stranger' of the client is signed by an authority")
    }

    @Test("an expired client is refused, and the server says why", arguments: versions)
    func expired(_ version: TLSOptions.Version) throws {
        let members = try CertificateAuthority(name: "members")
        let identity = try members.issue(commonName: "late", days: -9 ... -1)
        try refused(identity, members: members, version, serverSays: "'CN = late' of the client expired")
    }

    private func refused(
        _ identity: CertificateAuthority.Identity?, members: CertificateAuthority? = nil,
        _ version: TLSOptions.Version, serverSays words: String
    ) throws {
        var pair = try pair(identity, members: members ?? CertificateAuthority(name: "members"), version)
        let failures = try pair.shakeHands()
        #expect(failures.server?.kind == .certificate)
        #expect(failures.server?.message.contains(words) == true, "\(failures)")
        var error = failures.client
        // In TLS 1.3 the client is done before the server has looked at its certificate.
        if error == nil {
            error = #expect(throws: TLSError.self) { _ = try pair.client.take() }
        }
        #expect(error?.message.contains("tls.clientCertificate") == true, "\(String(describing: error))")
    }

    @Test("options that are printed do not show the key")
    func description() throws {
        let identity = try CertificateAuthority.selfSigned(names: ["a.test"])
        var options = TLSOptions()
        options.clientCertificate = .init(
            certificateChainPEM: identity.certificateChainPEM, privateKeyPEM: identity.privateKeyPEM)
        var dumped = ""
        dump(options, to: &dumped)
        for text in ["\(options)", String(reflecting: options), dumped] {
            #expect(!text.contains("PRIVATE KEY"))
        }
    }
}
