internal import CSystemShims
import WebSocketCore

/// zlib's compressor for raw DEFLATE, with the window RFC 7692 §7.1.2 agreed on.
final class Deflater {
    // zlib's state points back at its z_stream, so that must not move: it has an allocation of its own, which only
    // this object knows and frees.
    private let stream: UnsafeMutablePointer<z_stream>

    init(windowBits: Int, level: Int32) throws(CompressionFailure) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Negative bits mean raw DEFLATE without zlib's own header. 8 is zlib's default for its memory.
        guard shim_deflate_init(stream, level, -Int32(truncatingIfNeeded: windowBits), 8) == Z_OK else {
            stream.deallocate()
            throw .outOfMemory
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Appends all of `input` compressed, and a flush behind it, so that the peer can inflate what it has.
    func compress(_ input: UnsafeRawBufferPointer, into output: inout ByteBuffer) throws(CompressionFailure) {
        var rest = input
        repeat {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(1 << 30))
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
            // zlib reads through this pointer only, though its type does not say so.
            stream.pointee.next_in = UnsafeMutablePointer(
                mutating: piece.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = UInt32(piece.count)
            let flush = rest.isEmpty ? Z_SYNC_FLUSH : Z_NO_FLUSH
            var isFull = true
            while isFull {
                let size = Swift.min(Swift.max(Int(stream.pointee.avail_in) / 2, 512), 256 << 10)
                try output.append(upTo: size) { (room) throws(CompressionFailure) in
                    stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    stream.pointee.avail_out = UInt32(room.count)
                    // Z_BUF_ERROR only says that there was nothing to do.
                    let result = deflate(stream, flush)
                    guard result == Z_OK || result == Z_BUF_ERROR else {
                        throw .corrupt("deflate: \(result)")
                    }
                    return room.count - Int(stream.pointee.avail_out)
                }
                isFull = stream.pointee.avail_out == 0
            }
        } while !rest.isEmpty
        stream.pointee.next_in = nil
        stream.pointee.next_out = nil
    }

    func reset() throws(CompressionFailure) {
        guard deflateReset(stream) == Z_OK else { throw .outOfMemory }
    }
}
