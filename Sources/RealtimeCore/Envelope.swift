/// The outer object of a message, `{"event": string, "channel"?: string, "data"?: any}`, as ranges into its text.
///
/// One pass over the bytes: it validates the whole text, finds the three members, and allocates nothing. Of
/// duplicate keys the last one counts. A `channel` that is null counts as absent.
package struct Envelope: Hashable, Sendable {
    package private(set) var event: JSONStringSlice
    package private(set) var channel: JSONStringSlice?
    package private(set) var data: EventData = .absent

    /// Why a message is not of this protocol.
    package enum Rejection: String, Error, Hashable, Sendable {
        case notUTF8 = "a binary message that is not UTF-8"
        case notJSON = "a message that is not valid JSON"
        case notObject = "a message that is not a JSON object"
        case noEvent = "a message without a string `event`"
        case channelNotString = "a message whose `channel` is not a string"
    }

    package init(scanning bytes: RawSpan) throws(Rejection) {
        var offset = 0
        JSONGrammar.skipWhitespace(bytes, &offset)
        guard JSONGrammar.skip(UInt8(ascii: "{"), bytes, &offset) else {
            throw JSONGrammar.isValid(bytes) ? .notObject : .notJSON
        }
        var event: EventData = .absent
        var channel: EventData = .absent
        JSONGrammar.skipWhitespace(bytes, &offset)
        if !JSONGrammar.skip(UInt8(ascii: "}"), bytes, &offset) {
            repeat {
                guard let key = JSONGrammar.skipKey(bytes, &offset) else { throw .notJSON }
                let value = try Envelope.value(bytes, &offset)
                if key.matches("event", in: bytes) {
                    event = value
                } else if key.matches("channel", in: bytes) {
                    channel = value
                } else if key.matches("data", in: bytes) {
                    data = value
                }
                JSONGrammar.skipWhitespace(bytes, &offset)
            } while JSONGrammar.skip(UInt8(ascii: ","), bytes, &offset)
            guard JSONGrammar.skip(UInt8(ascii: "}"), bytes, &offset) else { throw .notJSON }
        }
        JSONGrammar.skipWhitespace(bytes, &offset)
        guard offset == bytes.byteCount else { throw .notJSON }
        guard case .string(let name) = event else { throw .noEvent }
        self.event = name
        switch channel {
        case .absent: self.channel = nil
        case .string(let name): self.channel = name
        case .value(let range):
            guard bytes.matches("null", in: range) else { throw .channelNotString }
            self.channel = nil
        }
    }

    private static func value(_ bytes: RawSpan, _ offset: inout Int) throws(Rejection) -> EventData {
        JSONGrammar.skipWhitespace(bytes, &offset)
        let start = offset
        if offset < bytes.byteCount, bytes[offset] == UInt8(ascii: "\"") {
            guard let string = JSONGrammar.skipString(bytes, &offset) else { throw .notJSON }
            return .string(string)
        }
        guard JSONGrammar.skipValue(bytes, &offset, outerDepth: 1) else { throw .notJSON }
        return .value(start..<offset)
    }
}
