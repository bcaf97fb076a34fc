/// An application event, as ranges into the message that carried it: nothing was copied yet.
package struct InboundEvent: Sendable {
    package enum Recipient: Hashable, Sendable {
        case channel(ChannelID)
        /// The channel of the signed-in member.
        case member
    }

    package var recipient: Recipient
    package var name: JSONStringSlice
    package var data: EventData
}

/// The `data` of a message, as a range into it.
package enum EventData: Hashable, Sendable {
    case absent
    case string(JSONStringSlice)
    /// Any other JSON value.
    case value(Range<Int>)

    /// The text that the sender meant: the contents of a string (escapes resolved), or the JSON text itself.
    package func text(in message: RawSpan) -> [UInt8] {
        switch self {
        case .absent: []
        case .string(let slice): slice.unescaped(in: message)
        case .value(let range): message.copy(range)
        }
    }

    /// The value that handlers get: a string that parses as JSON is that JSON, any other string is itself; nil when
    /// there is no `data`.
    package func json(in message: RawSpan) -> JSONValue? {
        switch self {
        case .absent:
            return nil
        case .value(let range):
            return JSONValue(validated: message.copy(range))
        case .string(let slice):
            if let inner = JSONValue(parsing: slice.unescaped(in: message)) { return inner }
            return JSONValue(validated: message.copy(slice.range.lowerBound - 1..<slice.range.upperBound + 1))
        }
    }
}
