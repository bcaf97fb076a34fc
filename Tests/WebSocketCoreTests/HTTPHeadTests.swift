import Testing
import WebSocketCore

@Suite("The HTTP head, RFC 9112")
struct HTTPHeadTests {
    /// The head in `text`, given in pieces of at most `length` bytes, and how many bytes it took.
    static func parse(
        _ text: String, by length: Int = .max, limits: Limits = Limits()
    ) throws(HTTPHeadError) -> (head: HTTPHead, used: Int)? {
        var parser = HTTPHeadParser(limits: limits)
        let bytes = Array(text.utf8)
        var start = 0
        while start < bytes.count {
            let end = length < bytes.count - start ? start + length : bytes.count
            let piece = Array(bytes[start..<end])
            var offset = 0
            let head = try piece.span.bytes.withUnsafeBytes { (piece) throws(HTTPHeadError) in
                try parser.receive(piece, at: &offset)
            }
            if let head { return (head, start + offset) }
            start = end
        }
        return nil
    }

    static let answer = "HTTP/1.1 101 Switching\r\nA: 1\r\nb:\t two words \r\na: 2\r\nEmpty:\r\n\r\n"

    @Test(
        "First line, fields in order, spaces around values gone; what follows is left alone",
        arguments: [1, 2, 3, 5, 1000])
    func fields(length: Int) throws {
        let (head, used) = try #require(try Self.parse(Self.answer + "glued", by: length))
        #expect(used == Self.answer.utf8.count)
        #expect(head.firstLine == "HTTP/1.1 101 Switching")
        #expect(head.fields == ["A": "1", "b": "two words", "a": "2", "Empty": ""])
        #expect(head.fields["B"] == "two words")
        #expect(head.fields.values("a") == ["1", "2"])
    }

    @Test("Fields are looked up, replaced and listed without case")
    func lookup() {
        var fields: HTTPFields = ["Connection": "keep-alive, uPgrade", "X": "1", "x": "2"]
        #expect(fields.list("connection", contains: "upgrade"))
        #expect(!fields.list("connection", contains: "keep"))
        #expect(fields["x"] == "1" && fields["missing"] == nil)
        fields["x"] = "3"
        #expect(fields.values("X") == ["3"] && fields.count == 2)
        fields["X"] = nil
        #expect(fields.values("X").isEmpty && !fields.isEmpty)
        #expect(!(["Connection": "upgraded"] as HTTPFields).list("Connection", contains: "upgrade"))
    }

    @Test(
        "Heads that are refused",
        arguments: [
            "HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: 1\r\n\tmore\r\n\r\n",
            "HTTP/1.1 200 OK\nA: 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: 1\nB: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: 1\rB: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: 1\u{0}\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA : 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\n: 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\nÄ: 1\r\n\r\n",
            "\r\nHTTP/1.1 200 OK\r\n\r\n",
            "\r\n\r\n",
        ])
    func refused(text: String) {
        for length in [1, 4, 1000] {
            #expect(throws: HTTPHeadError.self) { _ = try Self.parse(text, by: length) }
        }
    }

    @Test("A head that has not ended is neither given nor refused")
    func incomplete() throws {
        for text in ["", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nA: 1\r\n", "HTTP/1.1 200 OK\r\nA: 1\r\n\r"] {
            #expect(try Self.parse(text) == nil)
        }
    }

    @Test("32 KiB by default, to the byte, in any pieces", arguments: [1000, 100_000])
    func byteLimit(length: Int) throws {
        let limit = Limits().maxHeadBytes
        #expect(limit == 32 << 10)
        let start = "HTTP/1.1 200 OK\r\nA: "
        let filler = String(repeating: "x", count: limit - start.utf8.count - 4)
        #expect(try Self.parse(start + filler + "\r\n\r\n", by: length)?.used == limit)
        #expect(throws: HTTPHeadError.self) { _ = try Self.parse(start + filler + "x\r\n\r\n", by: length) }
        // No end in sight: no more than the limit is kept.
        #expect(throws: HTTPHeadError.self) { _ = try Self.parse(start + filler + "xxxxx", by: length) }
    }

    @Test("256 fields by default")
    func fieldLimit() throws {
        let fields = (0..<256).map { "F\($0): \($0)\r\n" }.joined()
        let head = try #require(try Self.parse("HTTP/1.1 200 OK\r\n\(fields)\r\n")).head
        #expect(head.fields.count == 256)
        #expect(throws: HTTPHeadError.self) {
            _ = try Self.parse("HTTP/1.1 200 OK\r\n\(fields)One: more\r\n\r\n")
        }
    }

    @Test("Limits of one's own")
    func ownLimits() throws {
        var limits = Limits()
        limits.maxHeadBytes = 30
        limits.maxHeadFields = 1
        #expect(try Self.parse("HTTP/1.1 200 OK\r\nA: 1\r\n\r\n", limits: limits) != nil)
        #expect(throws: HTTPHeadError.self) {
            _ = try Self.parse("HTTP/1.1 200 OK\r\nA:\r\nB:\r\n\r\n", limits: limits)
        }
        #expect(throws: HTTPHeadError.self) {
            _ = try Self.parse("HTTP/1.1 200 OK\r\nA: 12345678\r\n\r\n", limits: limits)
        }
    }

    @Test("Bytes beyond ASCII in a value are kept; what is no UTF-8 is replaced, not fatal")
    func valuesBeyondASCII() throws {
        #expect(try Self.parse("HTTP/1.1 200 OK\r\nA: é\r\n\r\n")?.head.fields["A"] == "é")
        var parser = HTTPHeadParser(limits: Limits())
        let bytes = Array("HTTP/1.1 200 OK\r\nA: ".utf8) + [0xE9, 0xFF] + Array("\r\n\r\n".utf8)
        var offset = 0
        let head = try bytes.withUnsafeBytes { try parser.receive($0, at: &offset) }
        #expect(head?.fields["A"] == "\u{FFFD}\u{FFFD}")
    }

    @Test("The largest head, byte by byte", .timeLimit(.minutes(2)))
    func largestByteByByte() throws {
        let start = "HTTP/1.1 200 OK\r\nA: "
        // Ends that are none on the way, so that the search has to look again.
        let filler = String(repeating: "\r\nB: c", count: 200)
        let rest = String(
            repeating: "x", count: Limits().maxHeadBytes - start.utf8.count - filler.utf8.count - 4)
        let text = start + rest + filler + "\r\n\r\n"
        let (head, used) = try #require(try Self.parse(text, by: 1))
        #expect(used == Limits().maxHeadBytes && head.fields.count == 201)
    }

    @Test("No limit at all is a limit too")
    func unlimited() throws {
        var limits = Limits()
        limits.maxHeadBytes = .max
        limits.maxHeadFields = .max
        for length in [1, 1000] {
            #expect(try Self.parse(Self.answer + "glued", by: length, limits: limits) != nil)
        }
    }
}

@Suite("The proof of a handshake, RFC 6455 §4.2.2")
struct AcceptKeyTests {
    @Test("§1.3: the example of the RFC")
    func example() {
        #expect(AcceptKey.answer(to: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test("RFC 4648 §10: the test vectors of Base64")
    func base64() {
        let vectors = [
            "": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "foobar": "Zm9vYmFy",
        ]
        for (plain, encoded) in vectors { #expect(Base64.encode(Array(plain.utf8)) == encoded) }
    }
}
