import Testing
import WebSocketClient

@Suite("URLs")
struct URLTests {
    @Test(
        "What a URL says goes into the connection and the request",
        arguments: [
            ("ws://example.com", false, "example.com", 80, "/", "example.com"),
            ("wss://example.com", true, "example.com", 443, "/", "example.com"),
            ("WSS://Example.com/", true, "Example.com", 443, "/", "Example.com"),
            ("ws://example.com:8080/a/b?c=d", false, "example.com", 8080, "/a/b?c=d", "example.com:8080"),
            ("ws://example.com:80/", false, "example.com", 80, "/", "example.com"),
            ("ws://example.com:443/", false, "example.com", 443, "/", "example.com:443"),
            ("wss://example.com:80/", true, "example.com", 80, "/", "example.com:80"),
            ("wss://example.com:443?x", true, "example.com", 443, "/?x", "example.com"),
            ("ws://example.com:/x", false, "example.com", 80, "/x", "example.com"),
            ("ws://10.0.0.1:1/%20?a=%23", false, "10.0.0.1", 1, "/%20?a=%23", "10.0.0.1:1"),
            ("ws://[::1]/", false, "::1", 80, "/", "[::1]"),
            ("ws://[::1]:9000/", false, "::1", 9000, "/", "[::1]:9000"),
            ("ws://[fe80::1%251]:9000/", false, "fe80::1%1", 9000, "/", "[fe80::1]:9000"),
            ("ws://example.com/?q=http://x", false, "example.com", 80, "/?q=http://x", "example.com"),
            ("ws://example.com:65535/a@b:c", false, "example.com", 65535, "/a@b:c", "example.com:65535"),
        ] as [(String, Bool, String, UInt16, String, String)])
    func usable(text: String, isSecure: Bool, host: String, port: UInt16, target: String, hostField: String)
        throws
    {
        let url = try WebSocketURL(text)
        #expect(url.isSecure == isSecure)
        #expect(url.host == host)
        #expect(url.port == port)
        #expect(url.target == target)
        #expect(url.hostField == hostField)
    }

    @Test(
        "A URL that cannot be used is refused with what is wrong",
        arguments: [
            ("", "ws://"), ("example.com", "ws://"), ("ws:/example.com", "ws://"),
            ("http://example.com", "http"),
            ("://example.com", "scheme"), ("ws://", "host"), ("ws:///path", "host"), ("ws://:80/", "host"),
            ("ws://example.com/#part", "fragment"), ("ws://user:word@example.com/", "credentials"),
            ("ws://example.com:0/", "port"), ("ws://example.com:65536/", "port"),
            ("ws://example.com:+80/", "port"),
            ("ws://example.com:8a/", "port"), ("ws://example.com:-1/", "port"), ("ws://::1/", "host"),
            ("ws://[::1/", "bracket"), ("ws://[example.com]/", "IPv6"), ("ws://[::1]x/", "follows"),
            ("ws://[]/", "IPv6"),
            ("ws://exa mple.com/", "percent-encoded"), ("ws://example.com/\r\nX-A: b", "percent-encoded"),
            ("ws://bücher.example/", "punycode"), ("ws://example.com/é", "percent-encoded"),
        ])
    func unusable(text: String, word: String) {
        let error = #expect(throws: WebSocketError.self) { try WebSocketURL(text) }
        #expect(error?.kind == .misuse)
        #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
    }
}
