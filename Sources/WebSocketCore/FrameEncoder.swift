/// Writes frames into a buffer, masked there (RFC 6455 §5.2, §5.3).
enum FrameEncoder {
    static func append(
        _ opcode: Opcode, isFinal: Bool, isCompressed: Bool = false, payload: UnsafeRawBufferPointer,
        maskKey: UInt32?,
        to output: inout ByteBuffer
    ) {
        output.reserve(FrameHeader.maximumByteCount + payload.count)
        output.append((isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue)
        let mask: UInt8 = maskKey == nil ? 0 : 0x80
        switch payload.count {
        case ...125:
            output.append(mask | UInt8(payload.count))
        case ...0xFFFF:
            output.append(mask | 126)
            withUnsafeBytes(of: UInt16(payload.count).bigEndian) { output.append($0) }
        default:
            output.append(mask | 127)
            withUnsafeBytes(of: UInt64(payload.count).bigEndian) { output.append($0) }
        }
        guard let maskKey else {
            output.append(payload)
            return
        }
        withUnsafeBytes(of: maskKey.littleEndian) { output.append($0) }
        output.append(upTo: payload.count) { room in
            room.copyMemory(from: payload)
            Masking.apply(maskKey, to: room)
            return payload.count
        }
    }
}
