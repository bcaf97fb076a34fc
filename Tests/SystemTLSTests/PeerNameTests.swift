import SystemIO
import Testing

@testable import SystemTLS

@Suite struct PeerNameTests {
    @Test(
        "names are told as certificates know them",
        arguments: [
            ("a.test", PeerName.name("a.test")), ("a.test.", .name("a.test")), ("x_y-1.a", .name("x_y-1.a")),
            ("127.0.0.1", .address("127.0.0.1")), ("127.0.0.1.", .address("127.0.0.1")),
            ("::1", .address("::1")), ("[::1]", .address("::1")), ("[fe80::1%25eth0]", .address("fe80::1")),
            ("fe80::1%eth0", .address("fe80::1")), ("[0:0:0:0:0:0:0:1]", .address("::1")),
        ])
    func parse(_ host: String, _ expected: PeerName) throws {
        #expect(try PeerName(host) == expected)
    }

    @Test(
        "what OpenSSL would take for any name, or cut short, is refused",
        arguments: [
            "", ".", "..", ".a.test", "a..test", "a.test..", "a.test\0.b.test", "a.test:443", "*.a.test",
            "bücher.test",
            "a b.test", "a.test\n", "[]", "[a.test:1]", "1.2.3.4:443",
            String(repeating: "a", count: 64) + ".test", String(repeating: "a.", count: 127) + "test",
        ])
    func refuse(_ host: String) throws {
        let error = #expect(throws: TLSError.self) { try PeerName(host) }
        #expect(error?.kind == .configuration)
        #expect(error?.message.contains("tls.serverName") == true)
        #expect(error?.message.unicodeScalars.allSatisfy { $0.value >= 0x20 } == true)
    }

    @Test("a stream that cannot be made closes its socket")
    func closes() throws {
        let parties = try Parties()
        var sockets = try SocketPair()
        let peer = sockets.takeSecond()
        let socket = sockets.takeFirst()
        do {
            _ = try TLSStream(client: parties.client, socket: socket, host: "")
            Issue.record("an empty name was taken")
        } catch {}
        let outcome = try peer.take().outcome
        #expect(outcome == .end(isClean: true))
    }

    @Test(
        "the server hears the name without port and trailing dot, and no address (RFC 6066 §3)",
        arguments: [
            ("a.test", "a.test"), ("a.test.", "a.test"), ("127.0.0.1", nil), ("[::1]", nil), ("::1", nil),
        ] as [(String, String?)], [TLSOptions.Version.tls12, .tls13])
    func serverName(_ test: (host: String, name: String?), _ version: TLSOptions.Version) throws {
        let authority = try CertificateAuthority(name: "authority")
        let identity = try authority.issue(names: ["a.test"], addresses: ["127.0.0.1", "::1"])
        var options = TLSOptions()
        options.trust = .pem(authority.certificatePEM)
        var pair = try TLSPair(
            try .client(options),
            try .server(
                certificateChainPEM: identity.certificateChainPEM, privateKeyPEM: identity.privateKeyPEM,
                minimumVersion: version, maximumVersion: version),
            host: test.host)
        try pair.connect()
        let name = pair.server.requestedServerName
        #expect(name == test.name)
    }
}
