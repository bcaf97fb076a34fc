import SystemIO
import Testing

@testable import SystemTLS

@Suite(.timeLimit(.minutes(2))) struct TrustStoreTests {
    private let authority: CertificateAuthority
    private let server: TLSContext

    init() throws {
        authority = try CertificateAuthority(name: "authority")
        let identity = try authority.issue(names: ["a.test"])
        server = try .server(
            certificateChainPEM: identity.certificateChainPEM, privateKeyPEM: identity.privateKeyPEM)
    }

    private func handshake(_ trust: TLSOptions.Trust) throws -> TLSError? {
        var options = TLSOptions()
        options.trust = trust
        var pair = try TLSPair(try .client(options), server)
        return try pair.shakeHands().client
    }

    private func refusal(_ trust: TLSOptions.Trust) -> String {
        var options = TLSOptions()
        options.trust = trust
        let error = #expect(throws: TLSError.self) { _ = try TLSContext.client(options) }
        #expect(error?.kind == .configuration)
        return error?.message ?? ""
    }

    @Test("a file of authorities is trusted, with text around the certificates")
    func file() throws {
        var folder = try TemporaryFolder()
        let other = try CertificateAuthority(name: "other")
        let path = try folder.write(
            "# others\n\(other.certificatePEM)\n# ours\n\(authority.certificatePEM)", to: "bundle")
        let error = try handshake(.file(path))
        #expect(error == nil)
    }

    @Test("a directory named by hash is trusted, and its other files are not read")
    func hashedDirectory() throws {
        var folder = try TemporaryFolder()
        let other = try CertificateAuthority(name: "other")
        try folder.write(other.certificatePEM, to: other.hashedFileName)
        try folder.write(authority.certificatePEM, to: "authority.pem")
        let unknown = try handshake(.directory(folder.path))
        #expect(unknown?.kind == .certificate)
        try folder.write(authority.certificatePEM, to: authority.hashedFileName)
        let error = try handshake(.directory(folder.path))
        #expect(error == nil)
    }

    @Test("a directory of plain files is trusted", arguments: ["a.pem", "b.crt", "c.cer"])
    func plainDirectory(_ name: String) throws {
        var folder = try TemporaryFolder()
        try folder.write("no certificate\n", to: "broken.pem")
        try folder.write(authority.certificatePEM, to: name)
        let error = try handshake(.directory(folder.path))
        #expect(error == nil)
    }

    @Test("PEM text with several authorities is trusted, and trust is nothing but that")
    func pem() throws {
        let other = try CertificateAuthority(name: "other")
        let error = try handshake(.pem(other.certificatePEM + authority.certificatePEM))
        #expect(error == nil)
        let refusal = try handshake(.pem(other.certificatePEM))
        #expect(refusal?.kind == .certificate)
    }

    @Test("the system does not trust an authority of our own")
    func system() throws {
        let error = try handshake(.system)
        #expect(error?.kind == .certificate)
        #expect(error?.message.contains("tls.trust") == true)
    }

    @Test("a system without authorities is noticed")
    func emptySystem() throws {
        var folder = try TemporaryFolder()
        #expect(TrustStore.isEmpty(file: "\(folder.path)/none", directory: "\(folder.path)/none"))
        #expect(TrustStore.isEmpty(file: "\(folder.path)/none", directory: folder.path))
        try folder.write("", to: authority.hashedFileName)
        #expect(!TrustStore.isEmpty(file: "\(folder.path)/none", directory: folder.path))
        let bundle = try folder.write("", to: "bundle")
        #expect(!TrustStore.isEmpty(file: bundle, directory: "\(folder.path)/none"))
    }

    @Test("what cannot be loaded is named")
    func missing() throws {
        var folder = try TemporaryFolder()
        let none = "\(folder.path)/none"
        #expect(refusal(.file(none)).contains(none))
        #expect(refusal(.directory(none)).contains("\(none): No such file or directory"))
        #expect(refusal(.directory(folder.path)).contains("openssl rehash"))
        let key = try folder.write("no certificate\n", to: "key.pem")
        #expect(refusal(.file(key)).contains(key))
        #expect(refusal(.directory(folder.path)).contains(folder.path))
        #expect(refusal(.directory(key)).contains("Not a directory"))
        #expect(refusal(.pem("")).contains("tls.trust holds no certificate"))
    }

    @Test("a broken certificate is an error, not the end of the list")
    func brokenPEM() throws {
        let broken = authority.certificatePEM.replacing("MII", with: "MIJ", maxReplacements: 1)
        let words = refusal(.pem(authority.certificatePEM + broken + authority.certificatePEM))
        #expect(words.contains("tls.trust: certificate number 2"), "\(words)")
    }
}
