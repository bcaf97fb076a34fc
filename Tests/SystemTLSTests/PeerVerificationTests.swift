import SystemIO
import SystemTLS
import Testing

/// What a client thinks of a server's certificate (RFC 9525, RFC 5280 §6); scenario G4.
@Suite(.timeLimit(.minutes(2))) struct PeerVerificationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var host = "a.test"
        /// What the refusal says; nothing: accepted.
        var says: [String] = []
        var change: @Sendable (inout TLSOptions) -> Void = { _ in }
        /// The server's certificate, and what the client trusts beside.
        var issue:
            @Sendable (CertificateAuthority) throws -> (CertificateAuthority.Identity, trust: String?) = {
                (try $0.issue(names: ["a.test"]), nil)
            }
    }

    static let cases: [Case] = [
        Case(testDescription: "the right name"),
        Case(testDescription: "the right name in capitals", host: "A.Test"),
        Case(testDescription: "the right name with a trailing dot", host: "a.test."),
        Case(
            testDescription: "one of several names", host: "c.test",
            issue: { (try $0.issue(names: ["b.test", "c.test"], commonName: "b.test"), nil) }),
        Case(
            testDescription: "another name",
            says: ["'a.test'", "b.test, *.c.test, 192.0.2.1", "tls.serverName", "CN = b.test"],
            issue: { (try $0.issue(names: ["b.test", "*.c.test"], addresses: ["192.0.2.1"]), nil) }),
        Case(
            testDescription: "more names than fit a sentence", says: ["n7.test and 92 more"],
            issue: { (try $0.issue(names: (0..<100).map { "n\($0).test" }), nil) }),
        Case(
            testDescription: "a wildcard for one label", host: "x.a.test",
            issue: { (try $0.issue(names: ["*.a.test"]), nil) }),
        Case(
            testDescription: "a wildcard is no two labels", host: "y.x.a.test", says: ["*.a.test"],
            issue: { (try $0.issue(names: ["*.a.test"]), nil) }),
        Case(
            testDescription: "a wildcard is no empty label", says: ["*.a.test"],
            issue: { (try $0.issue(names: ["*.a.test"]), nil) }),
        Case(
            testDescription: "a wildcard for a part of a label", host: "xy.a.test", says: ["x*.a.test"],
            issue: { (try $0.issue(names: ["x*.a.test"]), nil) }),
        Case(
            testDescription: "a common name without a subject alternative name",
            says: ["CN = a.test", "subject alternative name"],
            issue: { (try $0.issue(commonName: "a.test"), nil) }),
        Case(
            testDescription: "an address", host: "127.0.0.1",
            issue: { (try $0.issue(addresses: ["127.0.0.1"]), nil) }),
        Case(
            testDescription: "an IPv6 address in brackets", host: "[::1]",
            issue: { (try $0.issue(addresses: ["::1"]), nil) }),
        Case(
            testDescription: "an IPv6 address with a zone", host: "[fe80::7%25eth0]",
            issue: { (try $0.issue(addresses: ["fe80::7"]), nil) }),
        Case(
            testDescription: "another address", host: "127.0.0.1", says: ["'127.0.0.1'", "127.0.0.2, ::1"],
            issue: { (try $0.issue(addresses: ["127.0.0.2", "::1"]), nil) }),
        Case(
            testDescription: "an address that the certificate has as a name", host: "127.0.0.1",
            says: ["'127.0.0.1'"], issue: { (try $0.issue(names: ["127.0.0.1"]), nil) }),
        Case(
            testDescription: "an address that the certificate has as common name", host: "127.0.0.1",
            says: ["'127.0.0.1'"], issue: { (try $0.issue(commonName: "127.0.0.1"), nil) }),
        Case(
            testDescription: "expired",
            says: ["the certificate 'CN = a.test'", "expired on", "GMT", "renewed"],
            issue: { (try $0.issue(names: ["a.test"], days: -9 ... -1), nil) }),
        Case(
            testDescription: "not yet valid", says: ["not valid before", "GMT", "clock"],
            issue: { (try $0.issue(names: ["a.test"], days: 2...9), nil) }),
        Case(
            testDescription: "self-signed", says: ["'CN = a.test'", "self-signed", "tls.trust"],
            issue: { _ in (try CertificateAuthority.selfSigned(names: ["a.test"]), nil) }),
        Case(
            testDescription: "self-signed and trusted",
            issue: { _ in
                let identity = try CertificateAuthority.selfSigned(names: ["a.test"])
                return (identity, identity.certificateChainPEM)
            }),
        Case(
            testDescription: "an unknown authority",
            says: ["'CN = a.test'", "not known", "tls.trust = .file"],
            issue: { _ in
                (try CertificateAuthority(name: "authority").issue(names: ["a.test"]), nil)
            }),
        Case(
            testDescription: "an unknown authority that the server sends along",
            says: ["the issuing certificate (depth 1) 'CN = stranger'", "not trusted", "tls.trust"],
            issue: { _ in
                let stranger = try CertificateAuthority(name: "stranger")
                var identity = try stranger.issue(names: ["a.test"])
                identity.certificateChainPEM += stranger.certificatePEM
                return (identity, nil)
            }),
        Case(
            testDescription: "a chain over intermediate authorities",
            issue: {
                let upper = try CertificateAuthority(name: "upper", signedBy: $0)
                return (
                    try CertificateAuthority(name: "lower", signedBy: upper).issue(names: ["a.test"]), nil
                )
            }),
        Case(
            testDescription: "an intermediate authority that the server does not send",
            says: ["not known", "whole chain"],
            issue: {
                let authority = try CertificateAuthority(name: "between", signedBy: $0)
                var identity = try authority.issue(names: ["a.test"])
                identity.certificateChainPEM.removeLast(authority.certificatePEM.count)
                return (identity, nil)
            }),
        Case(
            testDescription: "an intermediate authority that is trusted itself",
            issue: { _ in
                let root = try CertificateAuthority(name: "nobody knows")
                let authority = try CertificateAuthority(name: "between", signedBy: root)
                return (try authority.issue(names: ["a.test"]), authority.certificatePEM)
            }),
        Case(
            testDescription: "a server that signs for others", says: ["depth 1"],
            issue: { authority in
                // A certificate that is no authority's must not be a link of a chain (RFC 5280 §4.2.1.9).
                let mallory = try CertificateAuthority(posingAs: authority.issue(names: ["m.test"]))
                return (try mallory.issue(names: ["a.test"]), nil)
            }),
        Case(
            testDescription: "tls.serverName instead of the host", host: "127.0.0.1",
            change: { $0.serverName = "a.test" }),
        Case(
            testDescription: "tls.serverName that is wrong", says: ["'b.test'", "a.test"],
            change: { $0.serverName = "b.test" }),
    ]

    @Test(
        "a certificate is accepted or refused in the handshake", arguments: cases,
        [TLSOptions.Version.tls12, .tls13])
    func verify(_ test: Case, _ version: TLSOptions.Version) throws {
        let authority = try CertificateAuthority(name: "authority")
        let (identity, trust) = try test.issue(authority)
        var options = TLSOptions()
        options.trust = .pem(authority.certificatePEM + (trust ?? ""))
        test.change(&options)
        var pair = try TLSPair(
            try .client(options),
            try .server(
                certificateChainPEM: identity.certificateChainPEM, privateKeyPEM: identity.privateKeyPEM,
                minimumVersion: version, maximumVersion: version),
            host: test.host)

        let failures = try pair.shakeHands()
        guard !test.says.isEmpty else {
            #expect(failures.client == nil)
            #expect(failures.server == nil)
            return
        }
        let error = try #require(failures.client)
        #expect(error.kind == .certificate)
        for words in test.says { #expect(error.message.contains(words), "\(error)") }
        // The server learns it by an alert, and nothing of the application can leave or has left.
        #expect(failures.server?.message.contains("alert") == true, "\(String(describing: failures.server))")
        #expect(throws: TLSError.self) { _ = try pair.client.writeOnce("GET / HTTP/1.1\r\n".utf8) }
        #expect(throws: TLSError.self) { _ = try pair.server.readOnce() }
    }

    @Test("writing without waiting for the handshake sends nothing to a server that is refused")
    func earlyWrite() throws {
        let parties = try Parties(names: ["b.test"])
        var pair = try TLSPair(parties.client, parties.server)
        var refusal: TLSError?
        var served: TLSError?
        // On a socket pair each turn brings the handshake on: three are enough.
        for _ in 0..<6 where refusal == nil {
            do {
                let outcome = try pair.client.writeOnce("secret".utf8)
                #expect(outcome == .wouldBlock(.read))
            } catch { refusal = error }
            do { _ = try pair.server.handshake() } catch { served = error }
        }
        #expect(refusal?.kind == .certificate)
        do { _ = try pair.server.handshake() } catch { served = error }
        #expect(served != nil)
        #expect(throws: TLSError.self) { _ = try pair.server.readOnce() }
    }

    @Test("what a certificate says cannot write to the terminal of who reads the message")
    func printable() throws {
        let authority = try CertificateAuthority(name: "authority")
        let identity = try authority.issue(names: ["b.test\u{1B}[2J"], commonName: "b\u{1B}[2J\nERROR: x")
        var options = TLSOptions()
        options.trust = .pem(authority.certificatePEM)
        var pair = try TLSPair(
            try .client(options),
            try .server(
                certificateChainPEM: identity.certificateChainPEM, privateKeyPEM: identity.privateKeyPEM))
        let message = try #require(try pair.shakeHands().client).message
        #expect(message.contains("b.test\\x1B[2J"), "\(message)")
        #expect(message.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }, "\(message)")
    }

    @Test("threads that share a context shake hands without seeing each other's errors")
    func shared() async throws {
        let (good, bad) = try (Parties(), Parties(names: ["b.test"]))
        let contexts = [(good.client, good.server), (bad.client, bad.server)]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<24 {
                group.addTask {
                    let (client, server) = contexts[number % 2]
                    for _ in 0..<4 {
                        var pair = try TLSPair(client, server)
                        let failures = try pair.shakeHands()
                        #expect((failures.client == nil) == number.isMultiple(of: 2))
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
