/// A JSON value inside its (valid) text: nothing is converted until it is asked for, so numbers of any size and
/// precision keep their exact digits.
package struct JSONValue: Sendable {
    private let document: [UInt8]
    private let range: Range<Int>

    /// nil when the bytes are not one valid JSON text.
    package init?(parsing text: [UInt8]) {
        guard JSONGrammar.isValid(text.span.bytes) else { return nil }
        self.init(validated: text)
    }

    /// The bytes are known to be one JSON text.
    init(validated text: [UInt8]) {
        var start = 0
        JSONGrammar.skipWhitespace(text.span.bytes, &start)
        var end = text.count
        while end > start, text[end - 1] == 0x20 || (0x09...0x0D).contains(text[end - 1]) { end -= 1 }
        document = text
        range = start..<end
    }

    private init(document: [UInt8], range: Range<Int>) {
        self.document = document
        self.range = range
    }

    private var firstByte: UInt8 {
        range.isEmpty ? 0 : document[range.lowerBound]
    }

    /// The JSON text of this value.
    package var text: [UInt8] {
        range == 0..<document.count ? document : Array(document[range])
    }

    package var isNull: Bool { firstByte == UInt8(ascii: "n") }
    package var isObject: Bool { firstByte == UInt8(ascii: "{") }

    package var textUnlessNull: [UInt8]? { isNull ? nil : text }

    package var string: String? {
        var offset = range.lowerBound
        return JSONGrammar.skipString(document.span.bytes, &offset)?.string(in: document.span.bytes)
    }

    /// The digits of a number, exactly as they were sent.
    package var numberText: String? {
        switch firstByte {
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            String(decoding: document[range], as: UTF8.self)
        default: nil
        }
    }

    /// A number without fraction and exponent that fits.
    package var integer: Int? { numberText.flatMap { Int($0) } }

    /// A finite number.
    package var double: Double? { numberText.flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil } }

    /// An id: a string as it is, a number as its digits.
    package var identifier: String? { string ?? numberText }

    /// The members of an object in their order, duplicates included.
    package var members: [(String, JSONValue)]? {
        guard isObject else { return nil }
        let bytes = document.span.bytes
        var result: [(String, JSONValue)] = []
        var offset = range.lowerBound + 1
        JSONGrammar.skipWhitespace(bytes, &offset)
        if JSONGrammar.skip(UInt8(ascii: "}"), bytes, &offset) { return result }
        repeat {
            guard let key = JSONGrammar.skipKey(bytes, &offset), let value = nextValue(&offset) else { break }
            result.append((key.string(in: bytes), value))
            JSONGrammar.skipWhitespace(bytes, &offset)
        } while JSONGrammar.skip(UInt8(ascii: ","), bytes, &offset)
        return result
    }

    /// The elements of an array.
    package var elements: [JSONValue]? {
        guard firstByte == UInt8(ascii: "[") else { return nil }
        let bytes = document.span.bytes
        var result: [JSONValue] = []
        var offset = range.lowerBound + 1
        JSONGrammar.skipWhitespace(bytes, &offset)
        if JSONGrammar.skip(UInt8(ascii: "]"), bytes, &offset) { return result }
        repeat {
            guard let value = nextValue(&offset) else { break }
            result.append(value)
            JSONGrammar.skipWhitespace(bytes, &offset)
        } while JSONGrammar.skip(UInt8(ascii: ","), bytes, &offset)
        return result
    }

    /// The member of an object; the last one of duplicates.
    package subscript(key: String) -> JSONValue? {
        members?.last { $0.0 == key }?.1
    }

    private func nextValue(_ offset: inout Int) -> JSONValue? {
        let bytes = document.span.bytes
        JSONGrammar.skipWhitespace(bytes, &offset)
        let start = offset
        guard JSONGrammar.skipValue(bytes, &offset) else { return nil }
        return JSONValue(document: document, range: start..<offset)
    }
}
