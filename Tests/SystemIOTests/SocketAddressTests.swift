import SystemIO
import Testing

@Suite struct SocketAddressTests {
    @Test(
        "addresses print and parse",
        arguments: [
            "127.0.0.1:80", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:443", "[2001:db8::1]:8080",
            "[::ffff:10.0.0.1]:1", "[fe80::1%lo]:5", "[fe80::1%4094967]:5", "unix:/run/a b.sock",
        ])
    func roundTrip(text: String) throws {
        #expect(try #require(SocketAddress(text)).description == text)
    }

    @Test("an IPv6 address prints in its canonical form (RFC 5952)")
    func canonical() throws {
        let address = try #require(SocketAddress("[2001:0DB8:0:0:0:0:0:1]:1"))
        #expect(address.description == "[2001:db8::1]:1")
    }

    @Test(
        "what is no address is refused",
        arguments: [
            "", ":", "127.0.0.1", "127.1:80", "1.2.3.4.5:6", "256.0.0.1:1", "127.0.0.1:", "127.0.0.1:65536",
            "127.0.0.1:+80", "127.0.0.1:-1", "::1:80", "[::1]", "[::1:80", "[]:80", "[127.0.0.1]:80",
            "localhost:80", "[fe80::1%]:1", "[fe80::1%no-such-interface]:1", "[fe80::1%99999999999]:1",
            "unix:", "127.0.0.1\0:80", "unix:" + String(repeating: "x", count: 108),
        ])
    func refused(text: String) {
        #expect(SocketAddress(text) == nil)
    }

    @Test(
        "a URL's host that spells an address out is told from a name",
        arguments: [
            ("127.0.0.1", "127.0.0.1:9"), ("::1", "[::1]:9"), ("[::1]", "[::1]:9"),
            ("[fe80::1%25lo]", "[fe80::1%lo]:9"), ("[fe80::1%lo]", "[fe80::1%lo]:9"),
            ("fe80::1%lo", "[fe80::1%lo]:9"),
        ])
    func literal(host: String, expected: String) {
        #expect(SocketAddress.literal(host, 9)?.description == expected)
    }

    @Test(
        "names are no literals",
        arguments: [
            "localhost", "1.example", "127.0.0.1.", "0x7f.1", "127.1", "", "[", "[]", "[localhost]", "::g",
        ])
    func names(host: String) {
        #expect(SocketAddress.literal(host, 9) == nil)
    }

    @Test("another port, the same place")
    func withPort() {
        #expect(SocketAddress.loopback(port: 1).withPort(2) == .loopback(port: 2))
        #expect(SocketAddress.loopback6(port: 1).withPort(2) == .loopback6(port: 2))
        #expect(SocketAddress.unix(path: "/a").withPort(2) == .unix(path: "/a"))
        #expect(SocketAddress.loopback(port: 7).port == 7)
        #expect(SocketAddress.unix(path: "/a").port == nil)
    }
}
