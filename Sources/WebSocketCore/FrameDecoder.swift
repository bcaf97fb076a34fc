/// Reads one frame's head out of bytes that may end anywhere (RFC 6455 §5.2).
struct FrameDecoder {
    let role: Role
    let maxFrameBytes: Int
    let allowsCompression: Bool

    /// The head at `base`, or nil when more than `available` bytes are needed.
    @inline(__always)
    func header(
        at base: UnsafeRawPointer, available: Int
    ) throws(ProtocolViolation) -> FrameHeader? {
        guard available >= 2 else { return nil }
        let first = base.load(as: UInt8.self)
        let second = base.load(fromByteOffset: 1, as: UInt8.self)
        let (opcode, isCompressed) = try kind(first)
        let isFinal = first & 0x80 != 0
        let short = Int(second & 0x7F)
        let isMasked = second & 0x80 != 0
        // RFC 6455 §5.1: clients mask every frame, servers none.
        if isMasked != (role == .server) { throw Self.wrongMask(role) }
        // RFC 6455 §5.5: control frames are whole, and short enough for the 7-bit length.
        if opcode.isControl, !isFinal || short > 125 { throw Self.badControl(isFinal: isFinal) }

        var byteCount = 2
        var payloadCount = short
        if short == 126 {
            guard available >= 4 else { return nil }
            payloadCount = Int(UInt16(bigEndian: base.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
            byteCount = 4
            if payloadCount < 126 { throw Self.notMinimal() }
        } else if short == 127 {
            guard available >= 10 else { return nil }
            let wide = UInt64(bigEndian: base.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            byteCount = 10
            payloadCount = try Self.checked(wide)
        }
        // The limit is held against what the frame declares, before a byte of it is kept.
        if payloadCount > maxFrameBytes { throw tooLong(payloadCount) }
        var maskKey: UInt32 = 0
        if isMasked {
            guard available >= byteCount + 4 else { return nil }
            maskKey = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: byteCount, as: UInt32.self))
            byteCount += 4
        }
        return FrameHeader(
            isFinal: isFinal, isCompressed: isCompressed, opcode: opcode, payloadCount: payloadCount,
            maskKey: maskKey, byteCount: byteCount)
    }

    @inline(__always)
    private func kind(_ first: UInt8) throws(ProtocolViolation) -> (Opcode, isCompressed: Bool) {
        guard let opcode = Opcode(rawValue: first & 0x0F) else {
            throw ProtocolViolation(
                "RFC 6455 §5.2", .protocolError, "the frame has the reserved opcode \(first & 0x0F)")
        }
        let reserved = first & 0x70
        if reserved == 0 { return (opcode, false) }
        // RFC 7692 §6: RSV1 marks a compressed message, on its first frame alone.
        guard reserved == 0x40, allowsCompression, opcode == .text || opcode == .binary else {
            throw ProtocolViolation(
                allowsCompression ? "RFC 7692 §6" : "RFC 6455 §5.2", .protocolError,
                "the frame has reserved bits set that nothing negotiated gives a meaning to")
        }
        return (opcode, true)
    }

    private static func checked(_ wide: UInt64) throws(ProtocolViolation) -> Int {
        // RFC 6455 §5.2: the most significant bit of a 64-bit length is zero.
        guard let count = Int(exactly: wide) else {
            throw ProtocolViolation(
                "RFC 6455 §5.2", .protocolError, "the frame's 64-bit length has its top bit set")
        }
        if count <= 0xFFFF { throw notMinimal() }
        return count
    }

    private static func notMinimal() -> ProtocolViolation {
        ProtocolViolation("RFC 6455 §5.2", .protocolError, "the frame's length is not in its shortest form")
    }

    private static func wrongMask(_ role: Role) -> ProtocolViolation {
        ProtocolViolation(
            "RFC 6455 §5.1", .protocolError,
            role == .server ? "the client sent a frame that is not masked" : "the server sent a masked frame")
    }

    private static func badControl(isFinal: Bool) -> ProtocolViolation {
        ProtocolViolation(
            "RFC 6455 §5.5", .protocolError,
            isFinal ? "a control frame is longer than 125 bytes" : "a control frame is fragmented")
    }

    private func tooLong(_ count: Int) -> ProtocolViolation {
        ProtocolViolation(
            "RFC 6455 §10.4", .messageTooBig,
            "a frame of \(count) bytes is above maxFrameBytes, \(maxFrameBytes)")
    }
}
