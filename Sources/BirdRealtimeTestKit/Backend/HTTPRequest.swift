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
    static let maxHeadBytes = 32 * 1024
    static let maxBodyBytes = 4 << 20

    /// A request that cannot be taken; its status is the answer and the connection ends.
    struct Refusal: Error, Equatable {
        var status: Int
        var message: String
    }

    private var bytes: [UInt8] = []
    /// Up to here no end of a head was found: input that drips in is searched once.
    private var searched = 0

    mutating func append(_ more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }

    /// The next whole request; nil when more bytes are needed.
    mutating func next() throws(Refusal) -> HTTPRequest? {
        guard let headEnd = endOfHead() else {
            guard bytes.count <= Self.maxHeadBytes else {
                throw Refusal(status: 431, message: "the head is too long")
            }
            return nil
        }
        var request = try Self.head(bytes[..<headEnd])
        let length = try Self.bodyLength(request)
        guard bytes.count - headEnd >= length else { return nil }
        request.body = Array(bytes[headEnd..<headEnd + length])
        bytes.removeFirst(headEnd + length)
        searched = 0
        return request
    }

    private mutating func endOfHead() -> Int? {
        var index = max(searched, 3)
        while index < min(bytes.count, Self.maxHeadBytes) {
            if bytes[index] == 0x0A, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A,
                bytes[index - 3] == 0x0D
            {
                return index + 1
            }
            index += 1
        }
        searched = index
        return nil
    }

    private static func head(_ bytes: ArraySlice<UInt8>) throws(Refusal) -> HTTPRequest {
        // Bytes are compared, not characters: CR LF is one Swift Character.
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
        }[...]
        let start = (lines.popFirst() ?? "").split(separator: " ", omittingEmptySubsequences: false)
        guard start.count == 3, !start[0].isEmpty, start[2].hasPrefix("HTTP/1.") else {
            throw Refusal(status: 400, message: "no HTTP/1.1 request line")
        }
        var request = HTTPRequest(method: String(start[0]), target: String(start[1]))
        for line in lines where !line.isEmpty {
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
                throw Refusal(status: 400, message: "a header line without a colon")
            }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            let end =
                value.lastIndex { $0 != " " && $0 != "\t" }.map { value.index(after: $0) } ?? value.startIndex
            request.headers.append((String(line[..<colon]), String(value[..<end])))
        }
        let connection = request.header("connection")?.lowercased()
        request.keepsAlive = start[2] != "HTTP/1.0" && connection?.contains("close") != true
        return request
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
