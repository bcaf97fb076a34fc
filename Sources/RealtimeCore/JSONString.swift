/// The contents of a JSON string, as a range into the text around it (without the quotes).
package struct JSONStringSlice: Hashable, Sendable {
    package var range: Range<Int>
    package var hasEscapes: Bool

    /// True when the string is exactly this one, escapes resolved.
    package func matches(_ text: String, in bytes: RawSpan) -> Bool {
        hasEscapes ? unescaped(in: bytes).elementsEqual(text.utf8) : bytes.matches(text, in: range)
    }

    package func string(in bytes: RawSpan) -> String {
        String(decoding: unescaped(in: bytes), as: UTF8.self)
    }

    /// The UTF-8 of the string, escapes resolved.
    package func unescaped(in bytes: RawSpan) -> [UInt8] {
        guard hasEscapes else { return bytes.copy(range) }
        var result: [UInt8] = []
        result.reserveCapacity(range.count)
        var offset = range.lowerBound
        while offset < range.upperBound {
            let byte = bytes[offset]
            offset += 1
            guard byte == UInt8(ascii: "\\"), offset < range.upperBound else {
                result.append(byte)
                continue
            }
            let escape = bytes[offset]
            offset += 1
            switch escape {
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"): result.append(contentsOf: scalar(in: bytes, &offset).utf8)
            default: result.append(escape)
            }
        }
        return result
    }

    /// RFC 8259 §7: two escapes make one character outside of the basic plane. A lone half reads as U+FFFD.
    private func scalar(in bytes: RawSpan, _ offset: inout Int) -> Unicode.Scalar {
        let first = unit(in: bytes, &offset)
        if (0xD800..<0xDC00).contains(first), offset + 6 <= range.upperBound,
            bytes[offset] == UInt8(ascii: "\\"), bytes[offset + 1] == UInt8(ascii: "u")
        {
            var next = offset + 2
            let second = unit(in: bytes, &next)
            if (0xDC00..<0xE000).contains(second) {
                offset = next
                return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)) ?? "\u{FFFD}"
            }
        }
        return Unicode.Scalar(first) ?? "\u{FFFD}"
    }

    private func unit(in bytes: RawSpan, _ offset: inout Int) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 where offset < range.upperBound {
            value = value << 4 | (JSONGrammar.hexDigit(bytes[offset]) ?? 0)
            offset += 1
        }
        return value
    }
}

extension Unicode.Scalar {
    fileprivate var utf8: Unicode.UTF8.EncodedScalar {
        // Every Unicode scalar has a UTF-8 form; the fallback only satisfies the optional.
        Unicode.UTF8.encode(self) ?? Unicode.UTF8.encodedReplacementCharacter
    }
}
