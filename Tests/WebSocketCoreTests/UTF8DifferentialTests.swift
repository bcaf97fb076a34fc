import Testing
import WebSocketCore

@Suite("UTF-8 is judged as the standard library judges it")
struct UTF8DifferentialTests {
    private static func accepts(_ pieces: [ArraySlice<UInt8>]) -> Bool {
        var validator = UTF8Validator()
        let isAccepted = pieces.allSatisfy { piece in piece.withUnsafeBytes { validator.accept($0) } }
        return isAccepted && validator.isComplete
    }

    @Test("Random bytes, most of them near the forms' borders", arguments: UInt64(1)...8)
    func random(seed: UInt64) {
        var random = Seeded(seed)
        let likely: [UInt8] = [
            0x61, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4,
        ]
        var validCount = 0
        for _ in 0..<3_000 {
            let bytes = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                Int.random(in: 0..<8, using: &random) == 0
                    ? UInt8.random(in: 0...255, using: &random) : likely.randomElement(using: &random) ?? 0
            }
            let expected = String(validating: bytes, as: UTF8.self) != nil
            if expected { validCount += 1 }
            if Self.accepts([bytes[...]]) != expected
                || Self.accepts(random.cut(bytes, atMost: 3)) != expected
            {
                Issue.record("\(bytes) is judged otherwise, seed \(seed)")
            }
        }
        // Else the test would say nothing about what is accepted.
        #expect(validCount > 100)
    }

    @Test("Text with one byte changed", arguments: UInt64(1)...8)
    func changed(seed: UInt64) {
        var random = Seeded(seed)
        for _ in 0..<300 {
            var bytes = Array(random.text(Int.random(in: 1...80, using: &random)).utf8)
            #expect(Self.accepts(random.cut(bytes, atMost: 20)), "seed \(seed)")
            bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            let expected = String(validating: bytes, as: UTF8.self) != nil
            if Self.accepts([bytes[...]]) != expected
                || Self.accepts(random.cut(bytes, atMost: 20)) != expected
            {
                Issue.record("\(bytes) is judged otherwise, seed \(seed)")
            }
        }
    }
}
