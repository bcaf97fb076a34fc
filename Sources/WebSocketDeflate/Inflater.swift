internal import CSystemShims
import WebSocketCore

/// zlib's decompressor for raw DEFLATE, never writing more than the room it is given.
final class Inflater {
    // As in Deflater: zlib's state points back at its z_stream.
    private let stream: UnsafeMutablePointer<z_stream>
    /// Whether nothing of a block has been read: before a message, and behind a final block.
    private(set) var isBetweenBlocks = true

    init(windowBits: Int) throws(CompressionFailure) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard shim_inflate_init(stream, -Int32(truncatingIfNeeded: windowBits)) == Z_OK else {
            stream.deallocate()
            throw .outOfMemory
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Appends what `input` inflates to and lowers `room` by it.
    func decompress(
        _ input: UnsafeRawBufferPointer, into output: inout ByteBuffer, room: inout Int
    ) throws(CompressionFailure) {
        var rest = input
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(1 << 30))
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
            stream.pointee.next_in = UnsafeMutablePointer(
                mutating: piece.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = UInt32(piece.count)
            isBetweenBlocks = false
            var isFull = true
            while stream.pointee.avail_in > 0 || isFull {
                isFull = try step(into: &output, room: &room)
            }
        }
        stream.pointee.next_in = nil
        stream.pointee.next_out = nil
    }

    /// One call of zlib. Returns whether it filled what it was given, and so may have more.
    private func step(into output: inout ByteBuffer, room: inout Int) throws(CompressionFailure) -> Bool {
        if room == 0 {
            // At the limit one byte more tells whether the message ends here.
            var probe: UInt8 = 0
            let made = try withUnsafeMutableBytes(of: &probe) { (probe) throws(CompressionFailure) in
                try inflateOnce(into: probe)
            }
            if made > 0 { throw .limitExceeded }
            return false
        }
        let size = min(room, Swift.max(16 << 10, min(Int(stream.pointee.avail_in) &* 4, 256 << 10)))
        var made = 0
        try output.append(upTo: size) { (space) throws(CompressionFailure) in
            made = try inflateOnce(into: space)
            return made
        }
        room -= made
        return made == size
    }

    private func inflateOnce(into space: UnsafeMutableRawBufferPointer) throws(CompressionFailure) -> Int {
        stream.pointee.next_out = space.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(space.count)
        let before = stream.pointee.avail_in
        let result = inflate(stream, Z_SYNC_FLUSH)
        let made = space.count - Int(stream.pointee.avail_out)
        switch result {
        case Z_OK, Z_BUF_ERROR:
            // No progress with input left would go on for ever.
            if made == 0, before == stream.pointee.avail_in, before > 0 {
                throw .corrupt("the data does not go on")
            }
        case Z_STREAM_END:
            // RFC 7692 §7.2.3.4: a final block may end a message, and blocks may follow it. The window stays.
            guard inflateResetKeep(stream) == Z_OK else { throw .outOfMemory }
            isBetweenBlocks = stream.pointee.avail_in == 0
        case Z_MEM_ERROR:
            throw .outOfMemory
        default:
            throw .corrupt(stream.pointee.msg.map { String(cString: $0) } ?? "inflate: \(result)")
        }
        return made
    }

    /// Between messages: the next one starts with a window that is kept or empty.
    func endMessage(keepsContext: Bool) throws(CompressionFailure) {
        // zlib tells it in `data_type`: 128 at a block's end, and the bits of the last byte that it has not used.
        guard isBetweenBlocks || stream.pointee.data_type & 0xBF == 128 else {
            throw .corrupt("the message ends inside a block")
        }
        isBetweenBlocks = true
        if !keepsContext, inflateReset(stream) != Z_OK { throw .outOfMemory }
    }
}
