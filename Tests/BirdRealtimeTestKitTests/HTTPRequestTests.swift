import Testing

@testable import BirdRealtimeTestKit

@Suite("HTTP requests to the auth backend")
struct HTTPRequestTests {
    private let text =
        "POST /bird/auth?a=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX-Pad: \t v \t\r\n\r\nhello"

    @Test("a request is found however the bytes are cut")
    func everySplit() throws {
        let bytes = Array((text + text).utf8)
        for cut in 0...bytes.count {
            var parser = HTTPRequestParser()
            var requests: [HTTPRequest] = []
            for part in [bytes[..<cut], bytes[cut...]] {
                parser.append(part)
                while let request = try parser.next() { requests.append(request) }
            }
            #expect(requests.count == 2)
            for request in requests {
                #expect(request.method == "POST")
                #expect(request.path == "/bird/auth")
                #expect(request.header("x-pad") == "v")
                #expect(request.body == Array("hello".utf8))
                #expect(request.keepsAlive)
            }
        }
    }

    @Test(
        "a request that cannot be taken names its status",
        arguments: [
            ("GET /\r\n\r\n", 400), ("GET / HTTP/1.1\r\nnocolon\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
            ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n", 413),
        ])
    func refused(_ text: String, _ status: Int) {
        var parser = HTTPRequestParser()
        parser.append(text.utf8)
        #expect { _ = try parser.next() } throws: { ($0 as? HTTPRequestParser.Refusal)?.status == status }
    }

    @Test("a head without end is refused")
    func endless() {
        var parser = HTTPRequestParser()
        parser.append([UInt8](repeating: UInt8(ascii: "a"), count: 40_000))
        #expect(throws: HTTPRequestParser.Refusal.self) { _ = try parser.next() }
    }

    @Test("connection: close and HTTP/1.0 end the connection")
    func keepAlive() throws {
        for head in ["GET / HTTP/1.1\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"] {
            var parser = HTTPRequestParser()
            parser.append(head.utf8)
            #expect(try parser.next()?.keepsAlive == false)
        }
    }

    @Test("an answer carries its length and says when the connection ends")
    func answer() {
        let bytes = HTTPAnswer.json(#"{"ä":1}"#).bytes(closes: true)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 8\r\n"
                + "connection: close\r\n\r\n{\"ä\":1}")
    }
}
