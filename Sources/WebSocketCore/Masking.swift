/// RFC 6455 §5.3: masking and unmasking are the same exclusive or.
enum Masking {
    /// The key as it must be rotated for bytes that follow `count` masked ones.
    static func key(_ key: UInt32, after count: Int) -> UInt32 {
        let shift = UInt32(truncatingIfNeeded: count & 3) &* 8
        return shift == 0 ? key : (key &>> shift) | (key &<< (32 &- shift))
    }

    /// Masks `bytes` in place. `key` holds the key's first byte in its lowest bits.
    static func apply(_ key: UInt32, to bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        let count = bytes.count
        let wide = UInt64(key) | UInt64(key) &<< 32
        let wider = SIMD4<UInt64>(repeating: wide)
        var index = 0
        while count &- index >= 32 {
            let value = base.loadUnaligned(fromByteOffset: index, as: SIMD4<UInt64>.self)
            base.storeBytes(of: value ^ wider, toByteOffset: index, as: SIMD4<UInt64>.self)
            index &+= 32
        }
        while count &- index >= 8 {
            let value = base.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            base.storeBytes(of: value ^ wide, toByteOffset: index, as: UInt64.self)
            index &+= 8
        }
        while index < count {
            let value = base.load(fromByteOffset: index, as: UInt8.self)
            let part = UInt8(truncatingIfNeeded: key &>> (UInt32(truncatingIfNeeded: index & 3) &* 8))
            base.storeBytes(of: value ^ part, toByteOffset: index, as: UInt8.self)
            index &+= 1
        }
    }
}

/// Fresh masking keys, each used once (RFC 6455 §5.3), drawn in bulk from the generator its owner gives.
package struct MaskKeys: Sendable {
    private let refill: @Sendable (UnsafeMutableRawBufferPointer) -> Void
    private var keys: [UInt32]
    private var next: Int

    /// - Parameter refill: fills a buffer with bytes that nobody can predict.
    package init(count: Int = 256, refill: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void) {
        self.refill = refill
        keys = Array(repeating: 0, count: max(count, 1))
        next = keys.count
    }

    package mutating func draw() -> UInt32 {
        if next == keys.count {
            keys.withUnsafeMutableBytes { refill($0) }
            next = 0
        }
        defer { next &+= 1 }
        return keys[next]
    }
}
