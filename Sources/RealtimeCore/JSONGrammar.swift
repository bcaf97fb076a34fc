/// The grammar of RFC 8259 over bytes, without building anything and without recursion.
///
/// Strict: no comments, no trailing commas, no leading byte order mark (RFC 8259 §8.1 lets a parser refuse it). A
/// lone surrogate escape is grammatical (§8.2) and reads as U+FFFD. Bytes are taken to be valid UTF-8.
package enum JSONGrammar {
    /// RFC 8259 §9 lets a parser limit nesting; deeper texts are refused.
    package static let maximumDepth = 512

    /// True when the bytes are one JSON text, with nothing but whitespace around it.
    package static func isValid(_ bytes: RawSpan) -> Bool {
        var offset = 0
        guard skipValue(bytes, &offset) else { return false }
        skipWhitespace(bytes, &offset)
        return offset == bytes.byteCount
    }

    static func skipWhitespace(_ bytes: RawSpan, _ offset: inout Int) {
        while offset < bytes.byteCount {
            switch bytes[offset] {
            case 0x20, 0x0A, 0x0D, 0x09: offset += 1
            default: return
            }
        }
    }

    /// Moves past one byte if it is the next one.
    static func skip(_ byte: UInt8, _ bytes: RawSpan, _ offset: inout Int) -> Bool {
        guard offset < bytes.byteCount, bytes[offset] == byte else { return false }
        offset += 1
        return true
    }

    /// Moves past one value and the whitespace before it. `outerDepth` containers are open around it.
    static func skipValue(_ bytes: RawSpan, _ offset: inout Int, outerDepth: Int = 0) -> Bool {
        var open = OpenContainers(outerDepth: outerDepth)
        nextValue: while true {
            skipWhitespace(bytes, &offset)
            guard offset < bytes.byteCount else { return false }
            switch bytes[offset] {
            case UInt8(ascii: "{"):
                offset += 1
                guard open.push(isObject: true) else { return false }
                skipWhitespace(bytes, &offset)
                if !skip(UInt8(ascii: "}"), bytes, &offset) {
                    guard skipKey(bytes, &offset) != nil else { return false }
                    continue nextValue
                }
                open.pop()
            case UInt8(ascii: "["):
                offset += 1
                guard open.push(isObject: false) else { return false }
                skipWhitespace(bytes, &offset)
                if !skip(UInt8(ascii: "]"), bytes, &offset) { continue nextValue }
                open.pop()
            case UInt8(ascii: "\""):
                guard skipString(bytes, &offset) != nil else { return false }
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard skipNumber(bytes, &offset) else { return false }
            case UInt8(ascii: "t"):
                guard skipLiteral("true", bytes, &offset) else { return false }
            case UInt8(ascii: "f"):
                guard skipLiteral("false", bytes, &offset) else { return false }
            case UInt8(ascii: "n"):
                guard skipLiteral("null", bytes, &offset) else { return false }
            default:
                return false
            }
            // A value ended: close what ends with it, or go on behind a comma.
            while let isObject = open.innermostIsObject {
                skipWhitespace(bytes, &offset)
                if skip(UInt8(ascii: ","), bytes, &offset) {
                    if isObject, skipKey(bytes, &offset) == nil { return false }
                    continue nextValue
                }
                guard skip(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"), bytes, &offset) else {
                    return false
                }
                open.pop()
            }
            return true
        }
    }

    /// Moves past `"key":` and the whitespace before and inside it.
    static func skipKey(_ bytes: RawSpan, _ offset: inout Int) -> JSONStringSlice? {
        skipWhitespace(bytes, &offset)
        guard let key = skipString(bytes, &offset) else { return nil }
        skipWhitespace(bytes, &offset)
        return skip(UInt8(ascii: ":"), bytes, &offset) ? key : nil
    }

    /// Moves past a string; RFC 8259 §7.
    static func skipString(_ bytes: RawSpan, _ offset: inout Int) -> JSONStringSlice? {
        guard skip(UInt8(ascii: "\""), bytes, &offset) else { return nil }
        let start = offset
        var hasEscapes = false
        while offset < bytes.byteCount {
            let byte = bytes[offset]
            offset += 1
            if byte == UInt8(ascii: "\"") {
                return JSONStringSlice(range: start..<offset - 1, hasEscapes: hasEscapes)
            }
            if byte < 0x20 { return nil }
            guard byte == UInt8(ascii: "\\") else { continue }
            hasEscapes = true
            guard offset < bytes.byteCount else { return nil }
            let escape = bytes[offset]
            offset += 1
            switch escape {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
                UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
                continue
            case UInt8(ascii: "u"):
                for _ in 0..<4 {
                    guard offset < bytes.byteCount, hexDigit(bytes[offset]) != nil else { return nil }
                    offset += 1
                }
            default:
                return nil
            }
        }
        return nil
    }

    /// Moves past a number; RFC 8259 §6.
    private static func skipNumber(_ bytes: RawSpan, _ offset: inout Int) -> Bool {
        _ = skip(UInt8(ascii: "-"), bytes, &offset)
        if !skip(UInt8(ascii: "0"), bytes, &offset) {
            guard skipDigits(bytes, &offset) else { return false }
        }
        if skip(UInt8(ascii: "."), bytes, &offset) {
            guard skipDigits(bytes, &offset) else { return false }
        }
        if skip(UInt8(ascii: "e"), bytes, &offset) || skip(UInt8(ascii: "E"), bytes, &offset) {
            if !skip(UInt8(ascii: "+"), bytes, &offset) { _ = skip(UInt8(ascii: "-"), bytes, &offset) }
            guard skipDigits(bytes, &offset) else { return false }
        }
        return true
    }

    private static func skipDigits(_ bytes: RawSpan, _ offset: inout Int) -> Bool {
        let start = offset
        while offset < bytes.byteCount, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[offset]) {
            offset += 1
        }
        return offset > start
    }

    private static func skipLiteral(_ literal: String, _ bytes: RawSpan, _ offset: inout Int) -> Bool {
        let end = offset + literal.utf8.count
        guard end <= bytes.byteCount, bytes.matches(literal, in: offset..<end) else { return false }
        offset = end
        return true
    }

    static func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }
}

/// Which containers are open, one bit each: the stack of the validator, without recursion or allocation.
private struct OpenContainers {
    private var bits = InlineArray<8, UInt64>(repeating: 0)
    private var depth = 0
    private let outerDepth: Int

    init(outerDepth: Int) {
        self.outerDepth = outerDepth
    }

    var innermostIsObject: Bool? {
        guard depth > 0 else { return nil }
        return bits[(depth - 1) / 64] >> UInt64((depth - 1) % 64) & 1 == 1
    }

    mutating func push(isObject: Bool) -> Bool {
        guard depth + outerDepth < JSONGrammar.maximumDepth else { return false }
        let bit: UInt64 = 1 << UInt64(depth % 64)
        if isObject { bits[depth / 64] |= bit } else { bits[depth / 64] &= ~bit }
        depth += 1
        return true
    }

    mutating func pop() {
        depth -= 1
    }
}
