/// RFC 7692's place in the connection: what compresses and inflates messages. One object a connection.
package protocol MessageCompression: AnyObject {
    /// Whether this side compresses at all: with a window no compressor can be held to, it does not.
    var canCompress: Bool { get }

    /// Whether a message of this size is worth compressing.
    func shouldCompress(byteCount: Int) -> Bool

    /// Appends the compressed form of one piece of a message. The last one ends without its 00 00 FF FF (§7.2.1).
    func compress(
        _ input: UnsafeRawBufferPointer, isFinal: Bool, into output: inout ByteBuffer
    ) throws(CompressionFailure)

    /// Appends what one piece of a message inflates to, never more than `limit` bytes (§7.2.2).
    func decompress(
        _ input: UnsafeRawBufferPointer, isFinal: Bool, into output: inout ByteBuffer, limit: Int
    ) throws(CompressionFailure)
}

package enum CompressionFailure: Error, Equatable, Sendable {
    /// The bytes are no DEFLATE stream, or refer to a window that is gone.
    case corrupt(String)
    /// The message inflates to more than the limit.
    case limitExceeded
    case outOfMemory
}
