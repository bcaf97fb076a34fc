internal import CSystemShims

/// HMAC-SHA256 (RFC 2104), 32 bytes.
package func hmacSHA256(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
    OpenSSLStart.ensure()
    var digest = [UInt8](repeating: 0, count: 32)
    var count: UInt32 = 0
    HMAC(EVP_sha256(), key, Int32(clamping: key.count), message, message.count, &digest, &count)
    return digest
}

/// Whether two byte strings are equal, in a time that does not tell where they differ.
package func isEqualInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}

/// Fills a buffer with bytes that nobody can predict.
package func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) {
    OpenSSLStart.ensure()
    // OpenSSL counts in Int32: a larger buffer is filled in pieces.
    var rest = buffer[...]
    while !rest.isEmpty {
        let piece = UnsafeMutableRawBufferPointer(rebasing: rest.prefix(1 << 30))
        let start = piece.baseAddress?.assumingMemoryBound(to: UInt8.self)
        // Never fails once the generator is seeded, which OpenSSL does from the kernel; without it nothing here is safe.
        precondition(RAND_bytes(start, Int32(piece.count)) == 1, "the system has no random numbers")
        rest = rest.dropFirst(piece.count)
    }
}

/// So many bytes that nobody can predict.
package func randomBytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.withUnsafeMutableBytes { fillRandom($0) }
    return bytes
}
