import Testing
import WebSocketCore

@Suite("The client's handshake, RFC 6455 §4.1")
struct ClientHandshakeTests {
    // The key and answer of RFC 6455 §1.3.
    static let key = Array("the sample nonce".utf8)
    static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    static let ok =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: \(accept)\r\n"

    static func handshake(
        fields: HTTPFields = [:], subprotocols: [String] = [], deflate: DeflateOptions? = nil,
        host: String = "example.test", target: String = "/chat?x=1", limits: Limits = Limits()
    ) throws(HandshakeMisuse) -> ClientHandshake {
        try ClientHandshake(
            ClientHandshake.Request(
                host: host, target: target, fields: fields, subprotocols: subprotocols, deflate: deflate),
            key: key, limits: limits)
    }

    /// What the handshake makes of an answer, and which bytes it leaves.
    static func answer(
        _ text: String, by length: Int = .max, to handshake: ClientHandshake
    ) -> (Result<ClientHandshake.Agreement?, UpgradeError>, rest: String) {
        var handshake = handshake
        let bytes = Array(text.utf8)
        var start = 0
        while start < bytes.count {
            let end = length < bytes.count - start ? start + length : bytes.count
            let piece = Array(bytes[start..<end])
            var offset = 0
            do throws(UpgradeError) {
                let agreement = try piece.span.bytes.withUnsafeBytes { (piece) throws(UpgradeError) in
                    try handshake.receive(piece, at: &offset)
                }
                if let agreement {
                    return (.success(agreement), String(decoding: bytes[(start + offset)...], as: UTF8.self))
                }
            } catch {
                return (.failure(error), "")
            }
            start = end
        }
        return (.success(nil), "")
    }

    static func isRefused(_ text: String, by handshake: ClientHandshake) -> Bool {
        if case .failure(.invalid(let why)) = answer(text, to: handshake).0 { !why.isEmpty } else { false }
    }

    @Test("The request has what §4.1 asks for, and the application's own fields")
    func request() throws {
        var deflate = DeflateOptions()
        deflate.serverMaxWindowBits = 10
        let handshake = try Self.handshake(
            fields: ["Authorization": "Bearer x", "Cookie": "a=b"], subprotocols: ["v2", "v1"],
            deflate: deflate)
        #expect(
            String(decoding: handshake.requestBytes, as: UTF8.self)
                == "GET /chat?x=1 HTTP/1.1\r\nHost: example.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Protocol: v2, v1\r\n"
                + "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10; client_max_window_bits\r\n"
                + "Authorization: Bearer x\r\nCookie: a=b\r\n\r\n")
    }

    @Test(
        "Fields that belong to the handshake are refused by name",
        arguments: [
            "Host", "UPGRADE", "connection", "Sec-WebSocket-Key", "sec-websocket-version",
            "Sec-WebSocket-Protocol",
            "Sec-WebSocket-Extensions", "Sec-WebSocket-Accept", "Sec-WebSocket-Anything", "Content-Length",
            "Transfer-Encoding",
        ])
    func reservedFields(name: String) {
        let error = #expect(throws: HandshakeMisuse.self) { _ = try Self.handshake(fields: [name: "x"]) }
        #expect(error?.message.contains(name) == true)
    }

    @Test(
        "Names and values that could end a line, or are none, are refused",
        arguments: [
            ("X", "a\r\nEvil: 1"), ("X", "a\nb"), ("X", "a\rb"), ("X", "a\u{0}b"), ("X", "\u{7F}"), ("", "x"),
            ("X Y", "x"),
            ("X:", "x"), ("X\r\nEvil", "x"), ("X\u{0}", "x"), ("Ü", "x"), ("(X)", "x"),
        ])
    func injections(name: String, value: String) {
        #expect(throws: HandshakeMisuse.self) {
            var fields = HTTPFields()
            fields.append(name, value)
            _ = try Self.handshake(fields: fields)
        }
    }

    @Test("So are targets, hosts and subprotocols", arguments: ["a b", "a\r\nEvil: 1", "é", "a\u{0}"])
    func injectionsElsewhere(text: String) {
        #expect(throws: HandshakeMisuse.self) { _ = try Self.handshake(target: "/" + text) }
        #expect(throws: HandshakeMisuse.self) { _ = try Self.handshake(host: text) }
        #expect(throws: HandshakeMisuse.self) { _ = try Self.handshake(subprotocols: [text]) }
    }

    @Test("A target begins with a slash; subprotocols are tokens, each once; options are in their range")
    func misuse() {
        #expect(throws: HandshakeMisuse.self) { _ = try Self.handshake(target: "chat") }
        #expect(throws: HandshakeMisuse.self) { _ = try Self.handshake(host: "") }
        #expect(throws: HandshakeMisuse.self) { _ = try Self.handshake(subprotocols: ["a", "a"]) }
        #expect(throws: HandshakeMisuse.self) { _ = try Self.handshake(subprotocols: ["a,b"]) }
        for bits in [7, 16, 0, -1] {
            var deflate = DeflateOptions()
            deflate.clientMaxWindowBits = bits
            let error = #expect(throws: HandshakeMisuse.self) { _ = try Self.handshake(deflate: deflate) }
            #expect(error?.message.contains("clientMaxWindowBits") == true)
        }
    }

    @Test("A1: bytes glued behind the 101 are left to the frames, wherever the reads are cut")
    func gluedBytes() throws {
        let handshake = try Self.handshake()
        let bytes = Array((Self.ok + "\r\n").utf8) + frame(0x81, "first") + frame(0x81, "hi")
        for cut in 0...bytes.count {
            #expect(
                Self.messages([bytes[..<cut], bytes[cut...]], handshake) == [.text("first"), .text("hi")])
        }
        let single = bytes.indices.map { bytes[$0...$0] }
        #expect(Self.messages(single, handshake) == [.text("first"), .text("hi")])
    }

    private static func messages(_ pieces: [ArraySlice<UInt8>], _ handshake: ClientHandshake) -> [Seen] {
        var handshake = handshake
        let client = Endpoint()
        var isUpgraded = false
        var seen: [Seen] = []
        for piece in pieces {
            var offset = 0
            if !isUpgraded {
                isUpgraded = piece.withUnsafeBytes { (try? handshake.receive($0, at: &offset)) != nil }
            }
            if isUpgraded { seen += client.receive(Array(piece.dropFirst(offset))) }
        }
        return seen
    }

    @Test("A3: names and tokens without case, spaces and tabs around values", arguments: [1, 7, 1000])
    func tolerated(length: Int) throws {
        let text =
            "HTTP/1.1 101 \r\nsec-websocket-accept:\(Self.accept)\r\nUPGRADE: WebSocket\t\r\n"
            + "connection: \t keep-alive, uPgrade \r\n\r\nrest"
        let (result, rest) = Self.answer(text, by: length, to: try Self.handshake())
        #expect(try result.get()?.subprotocol == nil)
        #expect(try result.get()?.fields.count == 3)
        #expect(rest == "rest")
    }

    static let upgrade = "HTTP/1.1 101 X\r\nUpgrade: websocket\r\n"
    static let connection = "Connection: Upgrade\r\n"

    @Test(
        "Answers that are no upgrade",
        arguments: [
            upgrade + "Connection: upgraded\r\nSec-WebSocket-Accept: \(accept)\r\n\r\n",
            upgrade + "Connection: keep-alive\r\nSec-WebSocket-Accept: \(accept)\r\n\r\n",
            upgrade + "Sec-WebSocket-Accept: \(accept)\r\n\r\n",
            upgrade + connection + "\r\n",
            upgrade + connection + "Sec-WebSocket-Accept: \r\n\r\n",
            upgrade + connection + "Sec-WebSocket-Accept: S3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
            ok + "Sec-WebSocket-Accept: \(accept)\r\n\r\n",
            "HTTP/1.1 101 X\r\n\(connection)Sec-WebSocket-Accept: \(accept)\r\n\r\n",
            "HTTP/1.1 101 X\r\nUpgrade: h2c\r\n\(connection)Sec-WebSocket-Accept: \(accept)\r\n\r\n",
            "HTTP/1.1 101 X\r\nUpgrade: h2c, websocket\r\n\(connection)Sec-WebSocket-Accept: \(accept)\r\n\r\n",
            "HTTP/1.0 101 X\r\nUpgrade: websocket\r\n\(connection)Sec-WebSocket-Accept: \(accept)\r\n\r\n",
            "HTTP/2 101 X\r\n\r\n", "HTTP/1.1 1011 X\r\n\r\n", "HTTP/1.1 +10 X\r\n\r\n", "HTTP/1.1\r\n\r\n",
            "SSH-2.0-OpenSSH_9.6\r\n\r\n", "HTTP/1.1 999 X\r\n\r\n",
        ])
    func noUpgrade(text: String) throws {
        #expect(Self.isRefused(text, by: try Self.handshake()))
    }

    @Test("A5: what was not offered cannot be chosen")
    func unoffered() throws {
        let nothing = try Self.handshake()
        #expect(Self.isRefused(Self.ok + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", by: nothing))
        #expect(Self.isRefused(Self.ok + "Sec-WebSocket-Protocol: x\r\n\r\n", by: nothing))
        let two = try Self.handshake(subprotocols: ["p1", "p2"], deflate: DeflateOptions())
        for choice in ["p3", "P1", "p1, p2", "", "p1\r\nSec-WebSocket-Protocol: p2"] {
            #expect(Self.isRefused(Self.ok + "Sec-WebSocket-Protocol: \(choice)\r\n\r\n", by: two))
        }
        for choice in [
            "x-webkit", "permessage-deflate, permessage-deflate", "permessage-deflate, x", "\"", ";",
        ] {
            #expect(Self.isRefused(Self.ok + "Sec-WebSocket-Extensions: \(choice)\r\n\r\n", by: two))
        }
    }

    @Test("What was offered may be chosen, or left out")
    func offered() throws {
        let two = try Self.handshake(subprotocols: ["p1", "p2"], deflate: DeflateOptions())
        let text =
            Self.ok + "Sec-WebSocket-Protocol: p2\r\nSec-WebSocket-Extensions: Permessage-Deflate\r\n\r\n"
        let agreement = try Self.answer(text, to: two).0.get()
        #expect(agreement?.subprotocol == "p2")
        #expect(agreement?.deflate == DeflateParameters())
        let neither = try Self.answer(Self.ok + "\r\n", to: two).0.get()
        #expect(neither?.subprotocol == nil && neither?.deflate == nil)
    }

    @Test("Interim answers precede the real one (RFC 9110 §15.2)")
    func interim() throws {
        let text =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + Self.ok + "\r\nrest"
        for length in [1, 50, 1000] {
            let (result, rest) = Self.answer(text, by: length, to: try Self.handshake())
            #expect(try result.get() != nil && rest == "rest")
        }
    }

    @Test("A head above the limit")
    func headLimit() throws {
        var limits = Limits()
        limits.maxHeadBytes = 100
        #expect(Self.isRefused(Self.ok + "\r\n", by: try Self.handshake(limits: limits)))
    }

    @Test("The end before the answer")
    func endedEarly() throws {
        var handshake = try Self.handshake()
        #expect(!handshake.isReadingRefusal)
        guard case .invalid = handshake.transportEnded() else {
            Issue.record("an end without an answer is no refusal")
            return
        }
    }
}
