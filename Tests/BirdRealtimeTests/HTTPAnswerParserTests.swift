import Testing

@testable import BirdRealtime

@Suite struct HTTPAnswerParserTests {
    func parse(_ pieces: [[UInt8]], endsCleanly: Bool = true) throws -> AuthAnswer {
        var parser = HTTPAnswerParser()
        for piece in pieces {
            if let answer = try piece.withUnsafeBytes({ try parser.receive($0) }) { return answer }
        }
        return try parser.end(isClean: endsCleanly)
    }

    static let forms = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nT: 1\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ]

    @Test("RFC 9112 §6: every framing, cut at every byte", arguments: forms)
    func framings(text: String) throws {
        let bytes = Array(text.utf8)
        for cut in 0...bytes.count {
            let answer = try parse([Array(bytes[..<cut]), Array(bytes[cut...])])
            #expect(answer.status == 200)
            #expect(String(decoding: answer.body, as: UTF8.self) == "hello")
        }
        #expect(try parse(bytes.map { [$0] }).body == Array("hello".utf8))
    }

    @Test(
        "An answer that ends early is no answer",
        arguments: [
            "", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        ])
    func early(text: String) {
        #expect(throws: HTTPAnswerParser.Fault.self) { try parse([Array(text.utf8)]) }
    }

    @Test("Without a length, only a clean end is an end")
    func truncation() {
        #expect(throws: HTTPAnswerParser.Fault.self) {
            try parse([Array("HTTP/1.1 200 OK\r\n\r\nhello".utf8)], endsCleanly: false)
        }
    }

    @Test(
        "What is not HTTP, or has no end, is a fault and no trap",
        arguments: [
            "hello world\r\n\r\n", "HTTP/1.1 99 X\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        ])
    func nonsense(text: String) {
        #expect(throws: HTTPAnswerParser.Fault.self) { try parse([Array(text.utf8)]) }
    }

    @Test("A line without an end is a fault before it has filled the memory")
    func endlessLine() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(throws: HTTPAnswerParser.Fault.self) {
            try parse([Array((head + String(repeating: "0", count: 9000)).utf8)])
        }
    }

    @Test("A body beyond the limit is refused as it comes")
    func limit() {
        let piece = [UInt8](repeating: 0x61, count: 1 << 16)
        let head = Array("HTTP/1.1 200 OK\r\n\r\n".utf8)
        #expect(throws: HTTPAnswerParser.Fault.self) {
            try parse([head] + Array(repeating: piece, count: 17))
        }
    }
}
