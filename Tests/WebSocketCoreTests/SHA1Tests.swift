import Testing
@testable import WebSocketCore

@Suite("SHA-1 and Base64 of the handshake, RFC 3174, RFC 4648")
struct SHA1Tests {
    private static func hex(_ text: String) -> String {
        SHA1.hash(Array(text.utf8)).map { byte in
            let digits = String(byte, radix: 16)
            return digits.utf8.count == 1 ? "0" + digits : digits
        }.joined()
    }

    @Test(
        "RFC 3174 §7.3: the test vectors",
        arguments: [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
            ),
            (
                String(repeating: "01234567", count: 80),
                "dea356a2cddd90c7a7ecedc5ebb563934f460452"
            ),
            (String(repeating: "a", count: 10_000), "a080cbda64850abb7b7f67ee875ba068074ff6fe"),
        ])
    func vectors(text: String, digest: String) {
        #expect(Self.hex(text) == digest)
    }

    @Test("Only whole, well-formed Base64 has a length")
    func decodedCount() {
        let counts: [String: Int?] = [
            "": 0, "Zg==": 1, "Zm8=": 2, "Zm9v": 3, "dGhlIHNhbXBsZSBub25jZQ==": 16, "Zg=": nil, "Zg": nil,
            "Z===": nil, "====": nil, "Zm9v!": nil, "Zm9-": nil, "Z=9v": nil, "Zm 8": nil, "é==": nil,
        ]
        for (text, count) in counts { #expect(Base64.decodedCount(text) == count, "\(text)") }
    }

    @Test("What is encoded decodes to as many bytes, for every remainder")
    func roundTripCount() {
        for count in 0...70 {
            #expect(Base64.decodedCount(Base64.encode([UInt8](repeating: 0xFB, count: count))) == count)
        }
    }
}
