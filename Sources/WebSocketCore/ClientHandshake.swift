/// The client's side of the opening handshake (RFC 6455 §4.1): a request to write, an answer to read.
package struct ClientHandshake: Sendable {
    /// What a connection is opened with.
    package struct Request: Sendable {
        /// The Host field: host, and port where it is not the scheme's own.
        package var host: String
        /// Path and query.
        package var target: String
        package var fields: HTTPFields
        package var subprotocols: [String]
        package var deflate: DeflateOptions?

        package init(
            host: String, target: String, fields: HTTPFields = [:], subprotocols: [String] = [],
            deflate: DeflateOptions? = nil
        ) {
            self.host = host
            self.target = target
            self.fields = fields
            self.subprotocols = subprotocols
            self.deflate = deflate
        }
    }

    /// What the server agreed to.
    package struct Agreement: Sendable, Equatable {
        package var subprotocol: String?
        package var deflate: DeflateParameters?
        /// The answer's own Sec-WebSocket-Extensions, for people to read.
        package var extensions: String?
        package var fields: HTTPFields
    }

    package let requestBytes: [UInt8]
    private let request: Request
    private let accept: String
    private let limits: Limits
    private var state: State

    private enum State: Sendable {
        case head(HTTPHeadParser)
        case refusal(UpgradeRefusal, RefusalBody)
        case ended
    }

    /// - Parameter key: 16 random bytes, new for each connection (RFC 6455 §4.1).
    /// - Throws: `HandshakeMisuse` that names what cannot be sent.
    package init(_ request: Request, key: [UInt8], limits: Limits = Limits()) throws(HandshakeMisuse) {
        try Self.check(request)
        let key = Base64.encode(key)
        var lines = [
            "GET \(request.target) HTTP/1.1", "Host: \(request.host)", "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: \(key)", "Sec-WebSocket-Version: 13",
        ]
        if !request.subprotocols.isEmpty {
            lines.append("Sec-WebSocket-Protocol: \(request.subprotocols.joined(separator: ", "))")
        }
        if let deflate = request.deflate { lines.append("Sec-WebSocket-Extensions: \(deflate.offer)") }
        for field in request.fields { lines.append("\(field.name): \(field.value)") }
        requestBytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        accept = AcceptKey.answer(to: key)
        self.request = request
        self.limits = limits
        state = .head(HTTPHeadParser(limits: limits))
    }

    private static func check(_ request: Request) throws(HandshakeMisuse) {
        for field in request.fields {
            try HandshakeFields.check(field, reserved: HandshakeFields.requestReserved)
        }
        guard !request.host.isEmpty, request.host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw HandshakeMisuse("the host '\(request.host)' has characters no Host field may have")
        }
        guard request.target.utf8.first == UInt8(ascii: "/"),
            request.target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            throw HandshakeMisuse("the path '\(request.target)' has characters that must be percent-encoded")
        }
        for (index, name) in request.subprotocols.enumerated() {
            // RFC 6455 §4.1: tokens, each once.
            guard HTTPGrammar.isToken(name) else {
                throw HandshakeMisuse("the subprotocol '\(name)' is no token of letters, digits and signs")
            }
            guard !request.subprotocols[..<index].contains(name) else {
                throw HandshakeMisuse("the subprotocol '\(name)' is offered twice")
            }
        }
        if let option = request.deflate?.unusableOption {
            throw HandshakeMisuse("deflate.\(option) is out of its range")
        }
    }

    /// Takes bytes of the answer from `input` at `offset`; what follows the answer's head is left there.
    ///
    /// - Returns: the agreement, or nil while more bytes are needed.
    package mutating func receive(
        _ input: UnsafeRawBufferPointer, at offset: inout Int
    ) throws(UpgradeError) -> Agreement? {
        while true {
            switch state {
            case .head(var parser):
                // Out of `state` while it changes: a second reference would copy the bytes on each call.
                state = .ended
                let head: HTTPHead?
                do throws(HTTPHeadError) {
                    head = try parser.receive(input, at: &offset)
                } catch {
                    throw .invalid(error.message)
                }
                guard let head else {
                    state = .head(parser)
                    return nil
                }
                let (status, reason) = try Self.statusLine(head.firstLine)
                if status == 101 { return try agreement(head.fields) }
                // RFC 9110 §15.2: other interim answers precede the real one.
                if (100..<200).contains(status) {
                    state = .head(HTTPHeadParser(limits: limits))
                    continue
                }
                let refusal = UpgradeRefusal(status: status, reason: reason, fields: head.fields, body: [])
                state = .refusal(
                    refusal, RefusalBody(head.fields, status: status, limit: limits.maxRefusalBodyBytes))
            case .refusal(var refusal, var body):
                state = .ended
                if body.receive(input, at: &offset) {
                    refusal.body = body.bytes
                    throw .refused(refusal)
                }
                state = .refusal(refusal, body)
                return nil
            case .ended:
                return nil
            }
        }
    }

    /// The transport ended: what a refusal lacks of its body is not missed.
    package mutating func transportEnded() -> UpgradeError {
        defer { state = .ended }
        if case .refusal(var refusal, let body) = state {
            refusal.body = body.bytes
            return .refused(refusal)
        }
        return .invalid("the server closed the connection before its answer was complete")
    }

    /// Whether a refusal's head is there, and only its body is awaited.
    package var isReadingRefusal: Bool {
        if case .refusal = state { true } else { false }
    }

    private static func statusLine(_ line: String) throws(UpgradeError) -> (Int, String) {
        let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0] == "HTTP/1.1" || parts[0] == "HTTP/1.0", parts[1].utf8.count == 3,
            let status = Int(parts[1]), (100...599).contains(status)
        else { throw .invalid("the answer is not HTTP/1.1: it begins '\(line.prefix(utf8Count: 40))'") }
        // RFC 6455 §4.1 wants HTTP/1.1 of an upgrade; a refusal may be older.
        guard parts[0] == "HTTP/1.1" || status != 101 else {
            throw .invalid("the upgrade came over HTTP/1.0")
        }
        return (status, parts.count == 3 ? String(parts[2]) : "")
    }

    /// RFC 6455 §4.1, the client's checks 2 to 6 of the server's answer.
    private func agreement(_ fields: HTTPFields) throws(UpgradeError) -> Agreement {
        let upgrades = fields.values("Upgrade")
        guard upgrades.count == 1, upgrades[0].isEqualIgnoringCase(to: "websocket") else {
            throw .invalid("the answer's Upgrade is not 'websocket'")
        }
        guard fields.list("Connection", contains: "Upgrade") else {
            throw .invalid("the answer's Connection does not say 'Upgrade'")
        }
        let accepts = fields.values("Sec-WebSocket-Accept")
        guard accepts.count == 1, accepts[0] == accept else {
            throw .invalid(
                accepts.isEmpty
                    ? "the answer has no Sec-WebSocket-Accept" : "the answer's Sec-WebSocket-Accept is wrong")
        }
        var agreement = Agreement(fields: fields)
        let subprotocols = fields.values("Sec-WebSocket-Protocol")
        if let subprotocol = subprotocols.first {
            guard subprotocols.count == 1, request.subprotocols.contains(subprotocol) else {
                throw .invalid("the answer chose the subprotocol '\(subprotocol)', which was not offered")
            }
            agreement.subprotocol = subprotocol
        }
        let extensions = fields.values("Sec-WebSocket-Extensions").joined(separator: ", ")
        guard let list = ExtensionList(extensions) else {
            throw .invalid("the answer's Sec-WebSocket-Extensions cannot be read: '\(extensions)'")
        }
        guard let element = list.elements.first else { return agreement }
        guard let deflate = request.deflate, element.name.isEqualIgnoringCase(to: DeflateParameters.name),
            list.elements.count == 1
        else { throw .invalid("the answer has the extensions '\(extensions)', which were not offered") }
        do throws(HandshakeRefusal) {
            agreement.deflate = try deflate.agreement(to: element)
        } catch {
            throw .invalid("the answer's permessage-deflate cannot be accepted: \(error.message)")
        }
        agreement.extensions = extensions
        return agreement
    }
}

/// The fields an application may add to a handshake.
enum HandshakeFields {
    static let requestReserved: Set<String> = [
        "host", "upgrade", "connection", "content-length", "transfer-encoding", "te", "trailer",
    ]
    static let answerReserved: Set<String> = requestReserved.subtracting(["host"])

    static func check(_ field: HTTPFields.Field, reserved: Set<String>) throws(HandshakeMisuse) {
        guard HTTPGrammar.isToken(field.name) else {
            throw HandshakeMisuse("the header name '\(field.name)' has characters no name may have")
        }
        guard HTTPGrammar.isFieldValue(field.value) else {
            throw HandshakeMisuse("the header \(field.name) has a value with control characters in it")
        }
        let name = field.name.lowercased()
        guard !reserved.contains(name), !name.hasPrefix("sec-websocket-") else {
            throw HandshakeMisuse(
                "the header \(field.name) belongs to the handshake itself and cannot be set; use the option made for it"
            )
        }
    }
}
