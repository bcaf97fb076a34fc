import Testing
@testable import WebSocketCore

@Suite("UTF-8 as it arrives, RFC 6455 §8.1")
struct UTF8Tests {
    /// A second opinion: Unicode's table 3-7, written as plainly as it stands there.
    static func isWellFormed(_ bytes: [UInt8]) -> Bool {
        var index = 0
        while index < bytes.count {
            let second: ClosedRange<UInt8>
            let more: Int
            switch bytes[index] {
            case 0x00...0x7F: index += 1; continue
            case 0xC2...0xDF: (second, more) = (0x80...0xBF, 0)
            case 0xE0: (second, more) = (0xA0...0xBF, 1)
            case 0xED: (second, more) = (0x80...0x9F, 1)
            case 0xE1...0xEF: (second, more) = (0x80...0xBF, 1)
            case 0xF0: (second, more) = (0x90...0xBF, 2)
            case 0xF4: (second, more) = (0x80...0x8F, 2)
            case 0xF1...0xF3: (second, more) = (0x80...0xBF, 2)
            default: return false
            }
            guard index + 1 + more < bytes.count, second.contains(bytes[index + 1]) else { return false }
            for place in 0..<more where !(0x80...0xBF).contains(bytes[index + 2 + place]) { return false }
            index += 2 + more
        }
        return true
    }

    static func take(_ bytes: ArraySlice<UInt8>, _ validator: inout UTF8Validator) -> Bool {
        bytes.withUnsafeBytes { validator.accept($0) }
    }

    static func accepts(_ bytes: [UInt8]) -> Bool {
        var validator = UTF8Validator()
        return validator.accept(bytes.span.bytes) && validator.isComplete
    }

    static func acceptsByteByByte(_ bytes: [UInt8]) -> Bool {
        var validator = UTF8Validator()
        return bytes.allSatisfy { Self.take([$0], &validator) } && validator.isComplete
    }

    @Test("Every code point, and no surrogate, whole and byte by byte")
    func everyCodePoint() {
        var wrong: [UInt32] = []
        for value in UInt32(0)...0x10FFFF {
            let isSurrogate = (0xD800...0xDFFF).contains(value)
            // Encoded by hand, so that surrogates can be written too.
            let bytes: [UInt8] =
                switch value {
                case ..<0x80: [UInt8(value)]
                case ..<0x800: [UInt8(0xC0 | value >> 6), UInt8(0x80 | value & 0x3F)]
                case ..<0x1_0000:
                    [UInt8(0xE0 | value >> 12), UInt8(0x80 | value >> 6 & 0x3F), UInt8(0x80 | value & 0x3F)]
                default:
                    [
                        UInt8(0xF0 | value >> 18), UInt8(0x80 | value >> 12 & 0x3F),
                        UInt8(0x80 | value >> 6 & 0x3F),
                        UInt8(0x80 | value & 0x3F),
                    ]
                }
            // With room behind it the whole-character way is taken, without it the way byte by byte.
            if Self.accepts(bytes) == isSurrogate || Self.accepts(bytes + [0x61, 0x61, 0x61]) == isSurrogate {
                wrong.append(value)
            }
        }
        #expect(wrong == [])
    }

    @Test("Every two bytes, and three and four at every border of the table")
    func borders() {
        var wrong: [[UInt8]] = []
        func check(_ bytes: [UInt8]) {
            let expected = Self.isWellFormed(bytes)
            let padded = bytes + Array("abcd".utf8)
            if Self.accepts(bytes) != expected || Self.acceptsByteByByte(bytes) != expected
                || Self.accepts(padded) != Self.isWellFormed(padded)
            {
                wrong.append(bytes)
            }
        }
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max { check([first, second]) }
        }
        let borders: [UInt8] = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xFF]
        for first in UInt8(0xC0)...0xFF {
            for second in borders {
                for third in borders {
                    check([first, second, third])
                    for fourth in borders { check([first, second, third, fourth]) }
                }
            }
        }
        #expect(wrong == [])
    }

    @Test(
        "One bad byte anywhere among wide strides of ASCII is found, and found at once",
        arguments: [0, 1, 7, 8, 15, 16, 31, 63, 64, 65, 130])
    func wideStrides(place: Int) {
        var bytes = [UInt8](repeating: 0x61, count: 200)
        #expect(Self.accepts(bytes))
        for bad: UInt8 in [0x80, 0xBF, 0xC0, 0xC1, 0xF5, 0xFF] {
            bytes[place] = bad
            #expect(!Self.accepts(bytes))
            var validator = UTF8Validator()
            let isGoodBefore = Self.take(bytes[..<place], &validator)
            let isGoodThere = Self.take(bytes[place...place], &validator)
            #expect(isGoodBefore && !isGoodThere)
        }
    }

    @Test(
        "Random text is accepted in any pieces; a random change is judged as the table judges it",
        arguments: UInt64(1)...20)
    func random(seed: UInt64) {
        var random = Seeded(seed)
        for _ in 0..<50 {
            var bytes = Array(random.text(Int.random(in: 0...200, using: &random)).utf8)
            var validator = UTF8Validator()
            let isAccepted = random.cut(bytes, atMost: 9).allSatisfy { Self.take($0, &validator) }
            #expect(isAccepted && validator.isComplete, "seed \(seed)")
            guard !bytes.isEmpty else { continue }
            bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            #expect(Self.accepts(bytes) == Self.isWellFormed(bytes), "seed \(seed)")
        }
    }
}

@Suite("Masking, RFC 6455 §5.3")
struct MaskingTests {
    @Test("At every length and alignment it is the exclusive or, byte by byte")
    func everyLength() {
        let key: [UInt8] = [0xA1, 0xB2, 0xC3, 0xD4]
        let word = UInt32(key[0]) | UInt32(key[1]) << 8 | UInt32(key[2]) << 16 | UInt32(key[3]) << 24
        for count in 0..<150 {
            for start in 0..<8 {
                var bytes = (0..<start + count).map { UInt8(truncatingIfNeeded: $0 &* 13) }
                let expected = bytes.enumerated().map { $0 < start ? $1 : $1 ^ key[($0 - start) % 4] }
                bytes.withUnsafeMutableBytes { bytes in
                    Masking.apply(word, to: UnsafeMutableRawBufferPointer(rebasing: bytes[start...]))
                }
                #expect(bytes == expected)
            }
        }
    }

    @Test("A rotated key goes on where the bytes before it stopped")
    func rotation() {
        #expect(
            (0...8).map { Masking.key(0x4433_2211, after: $0) } == [
                0x4433_2211, 0x1144_3322, 0x2211_4433, 0x3322_1144, 0x4433_2211, 0x1144_3322, 0x2211_4433,
                0x3322_1144,
                0x4433_2211,
            ])
    }

    @Test("Keys are drawn in bulk, and each is used once")
    func bulk() {
        var keys = MaskKeys(count: 3) { room in
            for index in room.indices { room[index] = UInt8(index / 4) }
        }
        #expect((0..<7).map { _ in keys.draw() & 0xFF } == [0, 1, 2, 0, 1, 2, 0])
    }
}
