/// What an application chooses about permessage-deflate (RFC 7692 §7). The defaults work.
public struct DeflateOptions: Sendable, Equatable {
    /// Whether the client promises, and the server demands, a fresh window for each message of the client. Saves the
    /// client about 256 KiB a connection, costs compression. Default false.
    public var clientNoContextTakeover = false
    /// The same for the server's messages. Default false.
    public var serverNoContextTakeover = false
    /// Whether the client lets the server choose the client's window. Default true; without it the server may not
    /// name one (RFC 7692 §7.1.2.2).
    public var offersClientMaxWindowBits = true
    /// The client's window in bits, 8...15. nil, the default, leaves it to the server, within 15.
    public var clientMaxWindowBits: Int?
    /// The largest window the server may use, 8...15. Default nil: 15.
    public var serverMaxWindowBits: Int?
    /// Messages of fewer bytes go uncompressed. Default 256.
    public var threshold = 256
    /// zlib's level, 0...9. Default 6.
    public var level = 6

    /// The defaults.
    public init() {}
}

/// What both sides agreed on (RFC 7692 §7.1).
package struct DeflateParameters: Sendable, Equatable {
    package static let name = "permessage-deflate"

    package var clientNoContextTakeover = false
    package var serverNoContextTakeover = false
    package var clientMaxWindowBits = 15
    package var serverMaxWindowBits = 15

    package init() {}
}

extension DeflateOptions {
    /// A window outside 8...15 cannot be offered; the name of the option that has one.
    package var unusableOption: String? {
        let range = 8...15
        if let bits = clientMaxWindowBits, !range.contains(bits) { return "clientMaxWindowBits" }
        if let bits = serverMaxWindowBits, !range.contains(bits) { return "serverMaxWindowBits" }
        return (0...9).contains(level) ? nil : "level"
    }

    /// The client's offer as a header value.
    package var offer: String {
        var text = DeflateParameters.name
        if serverNoContextTakeover { text += "; server_no_context_takeover" }
        if clientNoContextTakeover { text += "; client_no_context_takeover" }
        if let bits = serverMaxWindowBits { text += "; server_max_window_bits=\(bits)" }
        if offersClientMaxWindowBits {
            text += "; client_max_window_bits"
            if let bits = clientMaxWindowBits { text += "=\(bits)" }
        }
        return text
    }

    /// The client's reading of the server's answer to `offer`: what was agreed, or why it cannot be.
    package func agreement(
        to answer: ExtensionList.Element
    ) throws(HandshakeRefusal) -> DeflateParameters {
        let given = try Self.parameters(answer, isAnswer: true)
        var agreed = DeflateParameters()
        agreed.serverNoContextTakeover = given.serverNoContextTakeover
        agreed.clientNoContextTakeover = given.clientNoContextTakeover || clientNoContextTakeover
        // RFC 7692 §7.1.1.1: a server that accepts the demand says so.
        if serverNoContextTakeover, !given.serverNoContextTakeover {
            throw HandshakeRefusal("the answer leaves out server_no_context_takeover, which was asked for")
        }
        agreed.serverMaxWindowBits = given.serverMaxWindowBits ?? 15
        // RFC 7692 §7.1.2.1: the answer may lower the asked-for window, not raise or omit it.
        if let asked = serverMaxWindowBits, agreed.serverMaxWindowBits > asked {
            throw HandshakeRefusal(
                "the answer's server_max_window_bits is \(agreed.serverMaxWindowBits), more than the \(asked) asked for"
            )
        }
        // RFC 7692 §7.1.2.2: a window nobody offered to have chosen.
        if given.clientMaxWindowBits != nil, !offersClientMaxWindowBits {
            throw HandshakeRefusal("the answer has client_max_window_bits, which was not offered")
        }
        if let chosen = given.clientMaxWindowBits, let offered = clientMaxWindowBits, chosen > offered {
            throw HandshakeRefusal(
                "the answer's client_max_window_bits is \(chosen), more than the \(offered) offered")
        }
        agreed.clientMaxWindowBits = min(given.clientMaxWindowBits ?? 15, clientMaxWindowBits ?? 15)
        return agreed
    }

    /// The server's choice: the first offer it can take, and the answer that says so (RFC 7692 §5.1).
    package func accept(_ offers: ExtensionList) -> (agreed: DeflateParameters, answer: String)? {
        for offer in offers.elements where offer.name.isEqualIgnoringCase(to: DeflateParameters.name) {
            guard let given = try? Self.parameters(offer, isAnswer: false) else { continue }
            var agreed = DeflateParameters()
            agreed.serverNoContextTakeover = given.serverNoContextTakeover || serverNoContextTakeover
            agreed.clientNoContextTakeover = given.clientNoContextTakeover || clientNoContextTakeover
            agreed.serverMaxWindowBits = min(given.serverMaxWindowBits ?? 15, serverMaxWindowBits ?? 15)
            agreed.clientMaxWindowBits =
                given.offersClientBits
                ? min(given.clientMaxWindowBits ?? 15, clientMaxWindowBits ?? 15) : 15
            var answer = DeflateParameters.name
            if agreed.serverNoContextTakeover { answer += "; server_no_context_takeover" }
            if agreed.clientNoContextTakeover { answer += "; client_no_context_takeover" }
            if agreed.serverMaxWindowBits < 15 || given.serverMaxWindowBits != nil {
                answer += "; server_max_window_bits=\(agreed.serverMaxWindowBits)"
            }
            // RFC 7692 §7.1.2.2: only a client that named the parameter may be given one.
            if given.offersClientBits, agreed.clientMaxWindowBits < 15 {
                answer += "; client_max_window_bits=\(agreed.clientMaxWindowBits)"
            }
            return (agreed, answer)
        }
        return nil
    }

    private struct Given {
        var serverNoContextTakeover = false
        var clientNoContextTakeover = false
        var serverMaxWindowBits: Int?
        var clientMaxWindowBits: Int?
        var offersClientBits = false
    }

    /// RFC 7692 §7.1: each parameter once, known, with a value of the right form.
    private static func parameters(
        _ element: ExtensionList.Element, isAnswer: Bool
    ) throws(HandshakeRefusal) -> Given {
        var given = Given()
        var names: Set<String> = []
        for parameter in element.parameters {
            guard names.insert(parameter.name).inserted else {
                throw HandshakeRefusal("\(parameter.name) is there twice")
            }
            switch (parameter.name, parameter.value) {
            case ("server_no_context_takeover", nil): given.serverNoContextTakeover = true
            case ("client_no_context_takeover", nil): given.clientNoContextTakeover = true
            case ("server_max_window_bits", let value?):
                given.serverMaxWindowBits = try bits(value, parameter.name)
            case ("client_max_window_bits", let value):
                given.offersClientBits = true
                if value != nil || isAnswer {
                    given.clientMaxWindowBits = try bits(value ?? "", parameter.name)
                }
            default:
                let value = parameter.value.map { "=\($0)" } ?? ""
                throw HandshakeRefusal(
                    "the parameter \(parameter.name)\(value) is unknown or has a value it cannot have")
            }
        }
        return given
    }

    /// RFC 7692 §7.1.2: 8...15 in decimal, without leading zeros.
    private static func bits(_ value: String, _ name: String) throws(HandshakeRefusal) -> Int {
        guard let bits = Int(value), (8...15).contains(bits), String(bits) == value else {
            throw HandshakeRefusal("\(name) is '\(value)', not 8 to 15")
        }
        return bits
    }
}

/// Why an answer to the opening handshake cannot be accepted.
package struct HandshakeRefusal: Error, Equatable, Sendable {
    package var message: String

    package init(_ message: String) {
        self.message = message
    }
}
