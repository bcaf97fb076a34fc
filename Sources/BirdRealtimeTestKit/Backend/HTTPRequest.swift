internal import WebSocketCore

/// A whole HTTP/1.1 request.
struct HTTPRequest: Sendable {
    var method = ""
    var target = ""
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// RFC 9112 §9.3: the connection persists unless one side says otherwise; HTTP/1.0 does not.
    var keepsAlive = true

    /// The target without its query.
    var path: String { String(target.prefix { $0 != "?" }) }

    func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name }?.value
    }
}

/// Finds requests in a stream of bytes that may be cut anywhere. Bounded; bodies by content-length only.
struct HTTPRequestParser {
    static let maxBodyBytes = 4 << 20

    /// A request that cannot be taken; its status is the answer and the connection ends.
    struct Refusal: Error, Equatable {
        var status: Int
        var message: String
    }

    private var bytes: [UInt8] = []
    private var headParser = HTTPHeadParser(limits: Limits())
    /// The request whose body has not come whole.
    private var begun: (request: HTTPRequest, bodyLength: Int)?

    mutating func append(_ more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }

    /// The next whole request; nil when more bytes are needed.
    mutating func next() throws(Refusal) -> HTTPRequest? {
        if begun == nil { begun = try nextHead() }
        guard case (var request, let length)? = begun, bytes.count >= length else { return nil }
        request.body = Array(bytes[..<length])
        bytes.removeFirst(length)
        begun = nil
        return request
    }

    private mutating func nextHead() throws(Refusal) -> (HTTPRequest, Int)? {
        var offset = 0
        let input = bytes
        let head: HTTPHead?
        do throws(HTTPHeadError) {
            head = try input.span.bytes.withUnsafeBytes { (input) throws(HTTPHeadError) in
                try headParser.receive(input, at: &offset)
            }
        } catch {
            throw Refusal(status: 400, message: error.message)
        }
        bytes.removeFirst(offset)
        guard let head else { return nil }
        headParser = HTTPHeadParser(limits: Limits())
        let request = try Self.request(head)
        return (request, try Self.bodyLength(request))
    }

    private static func request(_ head: HTTPHead) throws(Refusal) -> HTTPRequest {
        let start = head.firstLine.split(separator: " ", omittingEmptySubsequences: false)
        guard start.count == 3, !start[0].isEmpty, start[2].hasPrefix("HTTP/1.") else {
            throw Refusal(status: 400, message: "no HTTP/1.1 request line")
        }
        return HTTPRequest(
            method: String(start[0]), target: String(start[1]),
            headers: head.fields.map { ($0.name, $0.value) },
            keepsAlive: start[2] != "HTTP/1.0" && !head.fields.list("Connection", contains: "close"))
    }

    private static func bodyLength(_ request: HTTPRequest) throws(Refusal) -> Int {
        guard request.header("transfer-encoding") == nil else {
            throw Refusal(status: 411, message: "the body needs a content-length")
        }
        guard let text = request.header("content-length") else { return 0 }
        guard let length = Int(text), length >= 0 else {
            throw Refusal(status: 400, message: "content-length is no number")
        }
        guard length <= maxBodyBytes else { throw Refusal(status: 413, message: "the body is too long") }
        return length
    }
}
