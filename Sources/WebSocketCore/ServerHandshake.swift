/// The server's side of the opening handshake (RFC 6455 §4.2): a request to read, an answer to write.
package struct ServerHandshake: Sendable {
    /// What a client asked for, after all that makes it a WebSocket handshake has been checked.
    package struct Request: Sendable, Equatable {
        /// Path and query, as they came.
        package var target: String
        package var fields: HTTPFields
        package var subprotocols: [String]
        let key: String
        let extensions: ExtensionList

        package var host: String? { fields["Host"] }
    }

    /// What the connection goes on with.
    package struct Acceptance: Sendable, Equatable {
        package var bytes: [UInt8]
        package var subprotocol: String?
        package var deflate: DeflateParameters?
    }

    private var parser: HTTPHeadParser

    package init(limits: Limits = Limits()) {
        parser = HTTPHeadParser(limits: limits)
    }

    /// Takes bytes of the request from `input` at `offset`; what follows its head is left there.
    ///
    /// - Returns: the request, or nil while more bytes are needed.
    /// - Throws: a refusal whose bytes are to be written before the connection is closed.
    package mutating func receive(
        _ input: UnsafeRawBufferPointer, at offset: inout Int
    ) throws(ServerRefusal) -> Request? {
        let head: HTTPHead?
        do throws(HTTPHeadError) {
            head = try parser.receive(input, at: &offset)
        } catch {
            throw ServerRefusal(status: 400, reason: "Bad Request", body: error.message)
        }
        guard let head else { return nil }
        return try Self.request(head)
    }

    /// RFC 6455 §4.2.1, each requirement a sentence.
    private static func request(_ head: HTTPHead) throws(ServerRefusal) -> Request {
        let parts = head.firstLine.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2] == "HTTP/1.1", parts[1].utf8.first == UInt8(ascii: "/") else {
            throw bad("the request line is not 'GET /path HTTP/1.1'")
        }
        guard parts[0] == "GET" else {
            throw ServerRefusal(
                status: 405, reason: "Method Not Allowed", body: "only GET upgrades", fields: ["Allow": "GET"]
            )
        }
        let fields = head.fields
        guard fields.values("Host").count == 1 else { throw bad("the request needs one Host") }
        guard fields.list("Upgrade", contains: "websocket"), fields.list("Connection", contains: "Upgrade")
        else {
            throw ServerRefusal(
                status: 426, reason: "Upgrade Required", body: "this is a WebSocket endpoint",
                fields: ["Upgrade": "websocket", "Connection": "Upgrade"])
        }
        guard fields.values("Sec-WebSocket-Version") == ["13"] else {
            // RFC 6455 §4.4.
            throw ServerRefusal(
                status: 426, reason: "Upgrade Required", body: "the version is 13",
                fields: ["Sec-WebSocket-Version": "13"])
        }
        let keys = fields.values("Sec-WebSocket-Key")
        guard keys.count == 1, Base64.decodedCount(keys[0]) == 16 else {
            throw bad("Sec-WebSocket-Key is not 16 bytes in base64")
        }
        let extensions = fields.values("Sec-WebSocket-Extensions").joined(separator: ", ")
        guard let list = ExtensionList(extensions) else {
            throw bad("Sec-WebSocket-Extensions cannot be read")
        }
        let subprotocols = fields.values("Sec-WebSocket-Protocol").flatMap { value in
            value.split(separator: ",").map { $0.trimmingWhitespace() }
        }
        guard subprotocols.allSatisfy(HTTPGrammar.isToken) else {
            throw bad("Sec-WebSocket-Protocol cannot be read")
        }
        return Request(
            target: String(parts[1]), fields: fields, subprotocols: subprotocols, key: keys[0],
            extensions: list)
    }

    private static func bad(_ sentence: String) -> ServerRefusal {
        ServerRefusal(status: 400, reason: "Bad Request", body: sentence)
    }

    /// The answer that upgrades.
    ///
    /// - Throws: `HandshakeMisuse` for a subprotocol the client did not offer, or a field that cannot be set.
    package static func accept(
        _ request: Request, subprotocol: String? = nil, deflate: DeflateOptions? = nil,
        fields: HTTPFields = [:]
    ) throws(HandshakeMisuse) -> Acceptance {
        var lines = [
            "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Accept: \(AcceptKey.answer(to: request.key))",
        ]
        if let subprotocol {
            guard request.subprotocols.contains(subprotocol) else {
                throw HandshakeMisuse("the client did not offer the subprotocol '\(subprotocol)'")
            }
            lines.append("Sec-WebSocket-Protocol: \(subprotocol)")
        }
        let agreed = deflate?.accept(request.extensions)
        if let agreed { lines.append("Sec-WebSocket-Extensions: \(agreed.answer)") }
        for field in fields {
            try HandshakeFields.check(field, reserved: HandshakeFields.answerReserved)
            lines.append("\(field.name): \(field.value)")
        }
        return Acceptance(
            bytes: Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8), subprotocol: subprotocol,
            deflate: agreed?.agreed)
    }
}

/// An answer that does not upgrade.
package struct ServerRefusal: Error, Sendable, Equatable {
    package var status: Int
    package var reason: String
    package var fields: HTTPFields
    package var body: [UInt8]

    package init(status: Int, reason: String, body: String = "", fields: HTTPFields = [:]) {
        self.status = status
        self.reason = reason
        self.fields = fields
        self.body = Array(body.utf8)
    }

    /// The whole answer. The connection is closed behind it.
    ///
    /// A refusal that cannot be written as it is becomes a 500 that says why.
    package var bytes: [UInt8] {
        if let fault {
            return ServerRefusal(status: 500, reason: "Internal Server Error", body: fault).bytes
        }
        var head = "HTTP/1.1 \(status) \(reason)\r\nContent-Length: \(body.count)\r\n"
        if fields["Connection"] == nil { head += "Connection: close\r\n" }
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        return Array((head + "\r\n").utf8) + body
    }
    /// What in it would end a line early, promise an upgrade, or contradict the body's length.
    private var fault: String? {
        // RFC 9110 §15: the classes of final answers.
        guard (200...599).contains(status) else { return "the status \(status) is none that refuses" }
        guard HTTPGrammar.isFieldValue(reason) else { return "the reason has control characters in it" }
        for field in fields {
            guard HTTPGrammar.isToken(field.name) else {
                return "a header name has characters no name may have"
            }
            guard HTTPGrammar.isFieldValue(field.value) else {
                return "the header \(field.name) has a value with control characters in it"
            }
            // RFC 9112 §6: the length is the body's own, and written here.
            guard !["content-length", "transfer-encoding"].contains(field.name.lowercased()) else {
                return "the header \(field.name) belongs to the answer itself and cannot be set"
            }
        }
        return nil
    }
}
