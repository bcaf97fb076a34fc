import SystemTLS
import Testing

@Suite struct DigestTests {
    @Test(
        "HMAC-SHA256 as in RFC 4231 §4",
        arguments: [
            (
                [UInt8](repeating: 0x0B, count: 20), "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                [UInt8](repeating: 0xAA, count: 131),
                "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
            (
                [UInt8](repeating: 0xAA, count: 131),
                "This is a test using a larger than block-size key and a larger than block-size data. "
                    + "The key needs to be hashed before being used by the HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
            ),
            ([], "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
        ])
    func hmac(_ key: [UInt8], _ message: String, _ expected: String) {
        #expect(hex(hmacSHA256(key: key, Array(message.utf8))) == expected)
    }

    @Test(
        "HMAC-SHA256 of bytes that are no text, as in RFC 4231 §4.4 and §4.5",
        arguments: [
            (
                [UInt8](repeating: 0xAA, count: 20), 0xDD,
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
            ),
            (Array(1...25), 0xCD, "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
        ])
    func hmacOfBytes(_ key: [UInt8], _ byte: UInt8, _ expected: String) {
        #expect(hex(hmacSHA256(key: key, [UInt8](repeating: byte, count: 50))) == expected)
    }

    private func hex(_ digest: [UInt8]) -> String {
        digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test("byte strings are equal when every byte is")
    func equality() {
        #expect(isEqualInConstantTime([], []))
        #expect(isEqualInConstantTime([1, 2, 3], [1, 2, 3]))
        #expect(!isEqualInConstantTime([1, 2, 3], [1, 2, 4]))
        #expect(!isEqualInConstantTime([0, 2, 3], [1, 2, 3]))
        #expect(!isEqualInConstantTime([1, 2], [1, 2, 3]))
        #expect(!isEqualInConstantTime([], [0]))
    }

    @Test("random bytes come in the number asked for and do not repeat")
    func random() {
        #expect(randomBytes(0).isEmpty)
        #expect(randomBytes(1).count == 1)
        // Equal once in 2^256 runs.
        #expect(randomBytes(32) != randomBytes(32))
        var buffer = [UInt8](repeating: 0, count: 64)
        buffer[16..<48].withUnsafeMutableBytes { fillRandom($0) }
        #expect(buffer[..<16].allSatisfy { $0 == 0 } && buffer[48...].allSatisfy { $0 == 0 })
        #expect(!buffer[16..<48].allSatisfy { $0 == 0 })
    }
}
