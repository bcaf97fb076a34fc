/// An HTTP/1.1 answer with a content-length.
struct HTTPAnswer: Sendable {
    var status: Int
    var headers: [(name: String, value: String)] = []
    var body: String

    init(status: Int, headers: [(name: String, value: String)] = [], body: String = "") {
        self.status = status
        self.headers = headers
        self.body = body
    }

    static func json(_ body: String) -> HTTPAnswer {
        HTTPAnswer(status: 200, headers: [("content-type", "application/json")], body: body)
    }

    static func text(_ status: Int, _ message: String) -> HTTPAnswer {
        HTTPAnswer(status: status, headers: [("content-type", "text/plain; charset=utf-8")], body: message)
    }

    /// The whole answer; `closes` announces that the connection ends with it.
    func bytes(closes: Bool) -> [UInt8] {
        let length = headers.contains { $0.name.lowercased() == "content-length" }
        var head = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        // RFC 9110 §8.6: no content-length in a 1xx or 204 answer.
        if !length, status >= 200, status != 204 { head += "content-length: \(body.utf8.count)\r\n" }
        if closes { head += "connection: close\r\n" }
        return Array((head + "\r\n" + body).utf8)
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 204: "No Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 307: "Temporary Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 411: "Length Required"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        default: "Status \(status)"  // RFC 9112 §4: the phrase means nothing to a client
        }
    }
}
