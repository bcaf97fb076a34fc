import Testing
import WebSocketCore

@Suite("A refused upgrade is an error that shows the answer")
struct RefusalTests {
    static func refusal(
        _ text: String, by length: Int = .max, limits: Limits = Limits(), endsTransport: Bool = false
    ) throws -> UpgradeRefusal? {
        var handshake = try ClientHandshakeTests.handshake(limits: limits)
        if case .failure(.refused(let refusal)) = ClientHandshakeTests.answer(text, by: length, to: handshake)
            .0
        {
            return refusal
        }
        guard endsTransport else { return nil }
        var offset = 0
        let bytes = Array(text.utf8)
        _ = try bytes.withUnsafeBytes { try handshake.receive($0, at: &offset) }
        #expect(handshake.isReadingRefusal)
        if case .refused(let refusal) = handshake.transportEnded() { return refusal }
        return nil
    }

    static func body(_ refusal: UpgradeRefusal?) -> String? {
        refusal.map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test("A6: status, reason and fields", arguments: [1, 9, 1000])
    func fields(length: Int) throws {
        let text = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nwait"
        let refusal = try #require(try Self.refusal(text, by: length))
        #expect(refusal.status == 429)
        #expect(refusal.reason == "Too Many Requests")
        #expect(refusal.fields["retry-after"] == "7")
        #expect(Self.body(refusal) == "wait")
    }

    @Test(
        "Every status but 101 refuses, also of HTTP/1.0",
        arguments: [200, 204, 301, 304, 400, 401, 403, 404, 426, 500, 503])
    func statuses(status: Int) throws {
        for version in ["1.0", "1.1"] {
            let text = "HTTP/\(version) \(status) X\r\nContent-Length: 0\r\n\r\n"
            #expect(try Self.refusal(text)?.status == status)
        }
    }

    @Test("A body of a length, in chunks, and until the end", arguments: [1, 3, 1000])
    func framings(length: Int) throws {
        let counted = "HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\nhello, and more"
        #expect(Self.body(try Self.refusal(counted, by: length)) == "hello")
        let chunked =
            "HTTP/1.1 403 No\r\nTransfer-Encoding: gzip, Chunked\r\nContent-Length: 1\r\n\r\n"
            + "5;name=value\r\nhello\r\nA\r\n, and more\r\n0\r\nTrailer: x\r\n\r\n"
        #expect(Self.body(try Self.refusal(chunked, by: length)) == "hello, and more")
        let untilEnd = "HTTP/1.1 403 No\r\n\r\nhello"
        #expect(try Self.refusal(untilEnd, by: length) == nil)
        #expect(Self.body(try Self.refusal(untilEnd, endsTransport: true)) == "hello")
    }

    @Test("The end in the middle of a body leaves what came")
    func cutBody() throws {
        let counted = "HTTP/1.1 503 No\r\nContent-Length: 100\r\n\r\nhel"
        #expect(Self.body(try Self.refusal(counted, endsTransport: true)) == "hel")
        let chunked = "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"
        #expect(Self.body(try Self.refusal(chunked, endsTransport: true)) == "hel")
    }

    @Test(
        "No more than maxRefusalBodyBytes, 4 KiB by default",
        arguments: ["Content-Length: 100000", "X: y", "Transfer-Encoding: chunked"])
    func bounded(field: String) throws {
        let size = field.hasPrefix("T") ? "186A0\r\n" : ""
        let text = "HTTP/1.1 403 No\r\n\(field)\r\n\r\n\(size)" + String(repeating: "x", count: 10_000)
        #expect(try Self.refusal(text)?.body.count == 4096)
        #expect(try Self.refusal(text, by: 1000)?.body.count == 4096)
        var limits = Limits()
        limits.maxRefusalBodyBytes = 0
        #expect(try Self.refusal(text, limits: limits)?.body == [])
    }

    @Test(
        "Lengths nobody can mean do no harm",
        arguments: [
            "Content-Length: 99999999999999999999", "Content-Length: -1", "Content-Length: x",
            "Content-Length: 9223372036854775807", "Transfer-Encoding: chunked",
        ])
    func absurd(field: String) throws {
        let chunks = [
            "7FFFFFFFFFFFFFFF\r\nabc", "FFFFFFFFFFFFFFFFFF\r\nabc", "-1\r\nabc", "\r\nabc",
            String(repeating: "0", count: 100),
        ]
        for chunk in chunks {
            let text = "HTTP/1.1 403 No\r\n\(field)\r\n\r\n\(chunk)"
            #expect(try Self.refusal(text, endsTransport: true)?.status == 403)
        }
    }
}
