/// Checks UTF-8 as it arrives: pieces may be cut anywhere, and the first bad byte is noticed at once (RFC 6455 §8.1).
///
/// The rules are Unicode's table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
package struct UTF8Validator: Sendable {
    /// Continuation bytes still missing from the character begun.
    private var missing = 0
    /// What the next continuation byte may be: narrower than 80...BF behind E0, ED, F0 and F4.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    package init() {}

    /// Whether the bytes so far end with a whole character.
    @inline(__always)
    package var isComplete: Bool { missing == 0 }

    package mutating func accept(_ bytes: RawSpan) -> Bool {
        bytes.withUnsafeBytes { accept($0) }
    }

    /// Whether `bytes` go on validly from what came before.
    package mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return true }
        let count = bytes.count
        var index = 0
        while index < count {
            // Unchecked by construction: index < count.
            let byte = base.load(fromByteOffset: index, as: UInt8.self)
            if missing == 0 {
                if byte < 0x80 {
                    index = Self.asciiEnd(base, from: index, to: count)
                    continue
                }
                if count &- index >= 4 {
                    let length = Self.characterLength(
                        UInt32(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt32.self)))
                    // A bad character takes the way byte by byte, which knows which byte is the first bad one.
                    if length > 0 {
                        index &+= length
                        continue
                    }
                }
            }
            index &+= 1
            if missing > 0 {
                guard byte >= lowest, byte <= highest else { return false }
                lowest = 0x80
                highest = 0xBF
                missing &-= 1
            } else if !begin(byte) {
                return false
            }
        }
        return true
    }

    private mutating func begin(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: missing = 1
        case 0xE0: (missing, lowest) = (2, 0xA0)
        case 0xED: (missing, highest) = (2, 0x9F)
        case 0xE1...0xEF: missing = 2
        case 0xF0: (missing, lowest) = (3, 0x90)
        case 0xF4: (missing, highest) = (3, 0x8F)
        case 0xF1...0xF3: missing = 3
        default: return false
        }
        return true
    }

    /// How many bytes the well-formed character beyond ASCII takes that `word` begins with, its first byte lowest; or 0.
    @inline(__always)
    private static func characterLength(_ word: UInt32) -> Int {
        // Each mask picks what the forms fix: 110xxxxx 10xxxxxx, and so on. What is left of the first two bytes then
        // rules out overlong forms, surrogates (ED A0...BF) and what is above U+10FFFF.
        if word & 0x00_C0E0 == 0x00_80C0 { return word & 0x1E != 0 ? 2 : 0 }
        if word & 0xC0_C0F0 == 0x80_80E0 {
            let start = word & 0x200F
            return start != 0 && start != 0x200D ? 3 : 0
        }
        if word & 0xC0C0_C0F8 == 0x8080_80F0 {
            let isLong = word & 0x3007 != 0
            return isLong && (word & 0x04 == 0 || word & 0x3003 == 0) ? 4 : 0
        }
        return 0
    }

    /// Where the run of ASCII that begins at `start` ends: 64 bytes at a time, then 16, then one by one.
    @inline(__always)
    private static func asciiEnd(_ base: UnsafeRawPointer, from start: Int, to count: Int) -> Int {
        var index = start
        while count &- index >= 64 {
            let a = base.loadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self)
            let b = base.loadUnaligned(fromByteOffset: index &+ 16, as: SIMD16<UInt8>.self)
            let c = base.loadUnaligned(fromByteOffset: index &+ 32, as: SIMD16<UInt8>.self)
            let d = base.loadUnaligned(fromByteOffset: index &+ 48, as: SIMD16<UInt8>.self)
            if !isASCII((a | b) | (c | d)) { break }
            index &+= 64
        }
        while count &- index >= 16 {
            if !isASCII(base.loadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self)) { break }
            index &+= 16
        }
        if count &- index >= 8 {
            if base.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 {
                index &+= 8
            }
        }
        while index < count, base.load(fromByteOffset: index, as: UInt8.self) < 0x80 { index &+= 1 }
        return index
    }

    @inline(__always)
    private static func isASCII(_ bytes: SIMD16<UInt8>) -> Bool {
        let words = unsafeBitCast(bytes, to: SIMD2<UInt64>.self)
        return (words.x | words.y) & 0x8080_8080_8080_8080 == 0
    }
}
