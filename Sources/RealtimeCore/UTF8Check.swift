/// Checks binary messages, whose text nobody has validated yet (text messages were checked by the WebSocket layer).
enum UTF8Check {
    /// RFC 3629 §4: shortest forms only, no surrogates, nothing beyond U+10FFFF.
    static func isValid(_ bytes: RawSpan) -> Bool {
        var offset = 0
        while offset < bytes.byteCount {
            let first = bytes[offset]
            offset += 1
            if first < 0x80 { continue }
            var second: ClosedRange<UInt8> = 0x80...0xBF
            let more: Int
            switch first {
            case 0xC2...0xDF: more = 1
            case 0xE0: (more, second) = (2, 0xA0...0xBF)
            case 0xED: (more, second) = (2, 0x80...0x9F)
            case 0xE1...0xEF: more = 2
            case 0xF0: (more, second) = (3, 0x90...0xBF)
            case 0xF1...0xF3: more = 3
            case 0xF4: (more, second) = (3, 0x80...0x8F)
            default: return false
            }
            guard bytes.byteCount - offset >= more, second.contains(bytes[offset]) else { return false }
            for position in offset + 1..<offset + more where bytes[position] & 0xC0 != 0x80 { return false }
            offset += more
        }
        return true
    }
}
