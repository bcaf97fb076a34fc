/// Frames that wait to be written. Control frames pass ahead of waiting data frames, but never go inside a frame that
/// is partly written (RFC 6455 §5.4, §5.5).
package struct Outbox: ~Copyable {
    private var buffer = ByteBuffer()
    /// How far from the front the first frame begins that has not been started: control frames go in there.
    private var boundary = 0

    package init() {}

    /// Bytes that wait.
    package var count: Int { buffer.count }
    package var isEmpty: Bool { buffer.isEmpty }

    /// The waiting bytes, in the order in which they are to be written.
    package func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try buffer.withUnsafeBytes(body)
    }

    /// Tells that the first `count` bytes have been written.
    package mutating func consume(_ count: Int) {
        if count == buffer.count {
            boundary = 0
        } else {
            // The heads are our own, so their lengths can be trusted.
            while boundary < count { boundary += frameByteCount(at: boundary) }
            boundary -= count
        }
        buffer.consume(count)
    }

    /// Gives memory back that an idle connection does not need.
    package mutating func releaseIdleMemory(keeping: Int = 0) {
        if buffer.isEmpty { buffer.removeAll(keeping: keeping) }
    }

    /// Forgets all that waits.
    package mutating func removeAll() {
        buffer.removeAll()
        boundary = 0
    }

    mutating func append(
        _ opcode: Opcode, isFinal: Bool = true, isCompressed: Bool = false, payload: UnsafeRawBufferPointer,
        maskKey: UInt32?
    ) {
        FrameEncoder.append(
            opcode, isFinal: isFinal, isCompressed: isCompressed, payload: payload, maskKey: maskKey,
            to: &buffer)
    }

    /// Puts a control frame ahead of data frames that have not been started, behind control frames put there before.
    mutating func expedite(_ opcode: Opcode, payload: UnsafeRawBufferPointer, maskKey: UInt32?) {
        var frame = ByteBuffer()
        FrameEncoder.append(opcode, isFinal: true, payload: payload, maskKey: maskKey, to: &frame)
        let place = boundary
        frame.withUnsafeBytes { buffer.insert($0, at: place) }
        boundary += frame.count
    }

    private func frameByteCount(at offset: Int) -> Int {
        buffer.withUnsafeBytes { bytes in
            let second = bytes[offset + 1]
            let mask = second & 0x80 == 0 ? 0 : 4
            switch second & 0x7F {
            case 127:
                let wide = bytes.loadUnaligned(fromByteOffset: offset + 2, as: UInt64.self)
                return 10 + mask + Int(UInt64(bigEndian: wide))
            case 126:
                let wide = bytes.loadUnaligned(fromByteOffset: offset + 2, as: UInt16.self)
                return 4 + mask + Int(UInt16(bigEndian: wide))
            case let short:
                return 2 + mask + Int(short)
            }
        }
    }
}
