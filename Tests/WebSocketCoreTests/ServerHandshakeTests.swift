import Testing
import WebSocketCore

@Suite("The server's handshake, RFC 6455 §4.2")
struct ServerHandshakeTests {
    static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    static let lines = [
        "GET /chat?x=1 HTTP/1.1", "Host: example.test", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Key: \(key)", "Sec-WebSocket-Version: 13",
    ]

    static func text(_ lines: [String]) -> String { lines.joined(separator: "\r\n") + "\r\n\r\n" }

    /// The lines of a request in which the one of that start is another, or gone.
    static func request(_ start: String, is line: String?) -> String {
        text(lines.compactMap { $0.hasPrefix(start) ? line : $0 })
    }

    static func receive(
        _ text: String, by length: Int = .max, limits: Limits = Limits()
    ) throws(ServerRefusal) -> (request: ServerHandshake.Request, used: Int)? {
        var handshake = ServerHandshake(limits: limits)
        let bytes = Array(text.utf8)
        var start = 0
        while start < bytes.count {
            let end = length < bytes.count - start ? start + length : bytes.count
            let piece = Array(bytes[start..<end])
            var offset = 0
            let request = try piece.span.bytes.withUnsafeBytes { (piece) throws(ServerRefusal) in
                try handshake.receive(piece, at: &offset)
            }
            if let request { return (request, start + offset) }
            start = end
        }
        return nil
    }

    @Test("§1.3: the request of the RFC and its answer", arguments: [1, 10, 1000])
    func example(length: Int) throws {
        let text = Self.text(
            Self.lines + ["Sec-WebSocket-Protocol: chat,\tsuperchat", "Origin: http://example.com"])
        let (request, used) = try #require(try Self.receive(text + "glued", by: length))
        #expect(used == text.utf8.count)
        #expect(request.target == "/chat?x=1")
        #expect(request.host == "example.test")
        #expect(request.subprotocols == ["chat", "superchat"])
        #expect(request.fields["origin"] == "http://example.com")
        let acceptance = try ServerHandshake.accept(
            request, subprotocol: "chat", fields: ["X-Served-By": "a"])
        #expect(
            String(decoding: acceptance.bytes, as: UTF8.self)
                == "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: chat\r\n"
                + "X-Served-By: a\r\n\r\n")
        #expect(acceptance.subprotocol == "chat" && acceptance.deflate == nil)
    }

    @Test("A client of ours and a server of ours agree")
    func bothOurs() throws {
        let client = try ClientHandshakeTests.handshake(
            subprotocols: ["a", "b"], deflate: DeflateOptions(), target: "/")
        let text = String(decoding: client.requestBytes, as: UTF8.self)
        let request = try #require(try Self.receive(text)).request
        let acceptance = try ServerHandshake.accept(request, subprotocol: "b", deflate: DeflateOptions())
        let answer = String(decoding: acceptance.bytes, as: UTF8.self)
        let agreement = try #require(try ClientHandshakeTests.answer(answer, to: client).0.get())
        #expect(agreement.subprotocol == "b")
        #expect(agreement.deflate == DeflateParameters() && acceptance.deflate == DeflateParameters())
    }

    @Test("Names and tokens without case, among others")
    func tolerated() throws {
        let text =
            "GET / HTTP/1.1\r\nhost: x\r\nupgrade: h2c, WebSocket\r\nCONNECTION: keep-alive , UPGRADE\r\n"
            + "sec-websocket-key:\(Self.key)\r\nSEC-WEBSOCKET-VERSION: 13 \r\n\r\n"
        #expect(try Self.receive(text)?.request.host == "x")
    }

    @Test(
        "Requests that are refused with 400",
        arguments: [
            request("GET", is: "GET /chat HTTP/1.0"), request("GET", is: "GET chat HTTP/1.1"),
            request("GET", is: "GET /a b HTTP/1.1"), request("GET", is: "GET /"), request("Host", is: nil),
            request("Host", is: "Host: a\r\nHost: b"), request("Sec-WebSocket-Key", is: nil),
            request("Sec-WebSocket-Key", is: "Sec-WebSocket-Key: AAAA"),
            request("Sec-WebSocket-Key", is: "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ="),
            request("Sec-WebSocket-Key", is: "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j!Q=="),
            request("Sec-WebSocket-Key", is: "Sec-WebSocket-Key: \(key)\r\nSec-WebSocket-Key: \(key)"),
            request("Host", is: "Host: a\r\nSec-WebSocket-Extensions: ;"),
            request("Host", is: "Host: a\r\nSec-WebSocket-Protocol: a b"),
            "GET / HTTP/1.1\nHost: a\n\r\n\r\n",
        ])
    func badRequests(text: String) {
        let refusal = #expect(throws: ServerRefusal.self) { _ = try Self.receive(text) }
        #expect(refusal?.status == 400 && refusal?.body.isEmpty == false)
    }

    @Test("Another method, no upgrade, another version")
    func otherRefusals() {
        let post = #expect(throws: ServerRefusal.self) {
            _ = try Self.receive(Self.request("GET", is: "POST / HTTP/1.1"))
        }
        #expect(post?.status == 405 && post?.fields["Allow"] == "GET")
        for (start, line) in [
            ("Upgrade", nil), ("Upgrade", "Upgrade: h2c"), ("Connection", nil),
            ("Connection", "Connection: upgraded"),
        ] as [(String, String?)] {
            let plain = #expect(throws: ServerRefusal.self) {
                _ = try Self.receive(Self.request(start, is: line))
            }
            #expect(plain?.status == 426 && plain?.fields["Upgrade"] == "websocket")
        }
        for line in [nil, "Sec-WebSocket-Version: 8", "Sec-WebSocket-Version: 13, 8"] {
            let version = #expect(throws: ServerRefusal.self) {
                _ = try Self.receive(Self.request("Sec-WebSocket-Version", is: line))
            }
            // §4.4.
            #expect(version?.status == 426 && version?.fields["Sec-WebSocket-Version"] == "13")
        }
    }

    @Test("A head above the limit is refused, not gathered")
    func limit() {
        var limits = Limits()
        limits.maxHeadBytes = 64
        #expect(throws: ServerRefusal.self) {
            _ = try Self.receive(Self.text(Self.lines), by: 1, limits: limits)
        }
    }

    @Test("What the server cannot answer: a subprotocol nobody offered, a field of the handshake's own")
    func misuse() throws {
        let request = try #require(try Self.receive(Self.text(Self.lines))).request
        #expect(throws: HandshakeMisuse.self) { _ = try ServerHandshake.accept(request, subprotocol: "x") }
        for field in [["Upgrade": "x"], ["Sec-WebSocket-Accept": "x"], ["X": "a\r\nb"], ["X Y": "a"]]
            as [HTTPFields]
        {
            #expect(throws: HandshakeMisuse.self) { _ = try ServerHandshake.accept(request, fields: field) }
        }
    }

    @Test("The bytes of a refusal")
    func refusalBytes() throws {
        let refusal = ServerRefusal(status: 403, reason: "Forbidden", body: "no", fields: ["X": "y"])
        #expect(
            String(decoding: refusal.bytes, as: UTF8.self)
                == "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\nX: y\r\n\r\nno")
        let seen = try #require(try RefusalTests.refusal(String(decoding: refusal.bytes, as: UTF8.self)))
        #expect(seen.status == 403 && seen.body == Array("no".utf8))
    }

    @Test(
        "A refusal whose fields, reason or status could end a line or confuse its length becomes a 500",
        arguments: [
            ServerRefusal(status: 403, reason: "No", fields: ["X": "a\r\nSet-Cookie: b"]),
            ServerRefusal(status: 403, reason: "No", fields: ["X": "a\nb"]),
            ServerRefusal(status: 403, reason: "No", fields: ["X\r\nY": "a"]),
            ServerRefusal(status: 403, reason: "No", fields: ["": "a"]),
            ServerRefusal(status: 403, reason: "No\r\nX: y"),
            ServerRefusal(status: 403, reason: "No", fields: ["content-length": "7"]),
            ServerRefusal(status: 403, reason: "No", fields: ["Transfer-Encoding": "chunked"]),
            ServerRefusal(status: 101, reason: "Switching Protocols"),
            ServerRefusal(status: 7, reason: ""), ServerRefusal(status: 1000, reason: ""),
        ])
    func unusableRefusal(refusal: ServerRefusal) throws {
        let text = String(decoding: refusal.bytes, as: UTF8.self)
        let (head, used) = try #require(try HTTPHeadTests.parse(text))
        #expect(head.firstLine == "HTTP/1.1 500 Internal Server Error")
        #expect(Set(head.fields.map(\.name)) == ["Content-Length", "Connection"])
        let body = text.utf8.count - used
        #expect(body > 0 && head.fields["Content-Length"] == "\(body)")
    }
}
