public import Foundation
import RealtimeCore

/// The `data` of one event, as it came: nothing is decoded before it is asked for.
public struct EventData: Sendable {
    private enum Form: Sendable {
        case absent
        /// The contents within ``rawBytes``.
        case string(JSONStringSlice)
        case value
    }

    private let form: Form

    /// The bytes of `data` exactly as they stood on the wire: a JSON string in its quotes, any other JSON value, or
    /// nothing when the event carried no data.
    public let rawBytes: [UInt8]

    /// Data that was made on this side: the JSON text of a value.
    init(json: [UInt8]) {
        form = json.isEmpty ? .absent : .value
        rawBytes = json
    }

    /// No data.
    static let absent = EventData(json: [])

    /// Copies the data out of the message it came in.
    init(_ data: RealtimeCore.EventData, in message: RawSpan) {
        switch data {
        case .absent:
            form = .absent
            rawBytes = []
        case .string(let slice):
            // The quotes around the contents are part of the message.
            rawBytes = message.copy(slice.range.lowerBound - 1..<slice.range.upperBound + 1)
            var contents = slice
            contents.range = 1..<rawBytes.count - 1
            form = .string(contents)
        case .value(let range):
            form = .value
            rawBytes = message.copy(range)
        }
    }

    /// Whether the event carried no data.
    public var isAbsent: Bool { rawBytes.isEmpty }

    /// What the sender meant, as UTF-8: the contents of a string with its escapes resolved (a JSON document, as a
    /// rule), or the JSON text of any other value. Numbers keep their digits.
    public var bytes: [UInt8] {
        guard case .string(let contents) = form else { return rawBytes }
        return contents.unescaped(in: rawBytes.span.bytes)
    }

    /// ``bytes`` as a string.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// What untyped handlers are given: the value as `JSONSerialization` makes it. A string that holds no JSON is that
    /// string; nil when there is no data.
    public var value: Any? {
        switch form {
        case .absent:
            return nil
        case .string:
            let bytes = bytes
            return JSONText.value(of: bytes) ?? String(decoding: bytes, as: UTF8.self)
        case .value:
            // A number that no number type holds is handed over as its text.
            return JSONText.value(of: rawBytes) ?? text
        }
    }

    /// Decodes the data as a value of `type`. Integers of 64 bits arrive exactly. A string that holds no JSON can be
    /// decoded as `String`. Throws what the decoder throws.
    public func decode<Value: Decodable>(
        as type: Value.Type, using decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        let bytes = bytes
        do {
            return try decoder.decode(type, from: Data(bytes))
        } catch {
            if case .string = form, type == String.self,
                let text = String(decoding: bytes, as: UTF8.self) as? Value
            {
                return text
            }
            throw error
        }
    }

    /// The integer at a path of object keys, exactly; nil when there is none or it does not fit. Without keys, the
    /// data itself.
    public func integer<Integer: FixedWidthInteger>(
        at keys: String..., as type: Integer.Type = Int.self
    ) -> Integer? {
        var value = JSONValue(parsing: bytes)
        for key in keys { value = value?[key] }
        return value?.numberText.flatMap { Integer($0) }
    }
}

/// One event of a channel.
public struct ChannelEvent: Sendable {
    /// The name of the channel; `#server-to-user-…` for member events.
    public let channel: String
    /// The name of the event.
    public let name: String
    /// What it carried.
    public let data: EventData

    /// For code that also sees the range type of the same name in RealtimeCore.
    typealias DataType = EventData

    /// Whether the library made the event. The service's own names never reach an application.
    var isLifecycle: Bool { name.hasPrefix(BirdProtocol.system) }
}

/// JSON text to and from Foundation's values.
enum JSONText {
    /// nil when the bytes are not one JSON text that Foundation can represent.
    static func value(of bytes: [UInt8]) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(bytes), options: [.fragmentsAllowed])
    }

    /// nil when the value has no JSON form.
    static func bytes(of value: Any?) -> [UInt8]? {
        guard let value else { return Array("null".utf8) }
        // Foundation traps on values that are not JSON inside containers; the check of a container finds them first.
        guard JSONSerialization.isValidJSONObject([value]) else { return nil }
        return (try? JSONSerialization.data(withJSONObject: value, options: [.fragmentsAllowed])).map(
            Array.init)
    }
}
