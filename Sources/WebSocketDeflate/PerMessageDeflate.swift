internal import CSystemShims
package import WebSocketCore

/// permessage-deflate (RFC 7692) of one connection. zlib's memory is taken when the first message needs it.
package final class PerMessageDeflate: MessageCompression {
    private let threshold: Int
    private let level: Int32
    private let sendWindowBits: Int
    private let receiveWindowBits: Int
    private let sendKeepsContext: Bool
    private let receiveKeepsContext: Bool
    private var deflater: Deflater?
    private var inflater: Inflater?

    package init(role: Role, agreed: DeflateParameters, options: DeflateOptions) {
        threshold = options.threshold
        level = Int32(truncatingIfNeeded: options.level)
        switch role {
        case .client:
            sendWindowBits = agreed.clientMaxWindowBits
            sendKeepsContext = !agreed.clientNoContextTakeover
            receiveWindowBits = agreed.serverMaxWindowBits
            receiveKeepsContext = !agreed.serverNoContextTakeover
        case .server:
            sendWindowBits = agreed.serverMaxWindowBits
            sendKeepsContext = !agreed.serverNoContextTakeover
            receiveWindowBits = agreed.clientMaxWindowBits
            receiveKeepsContext = !agreed.clientNoContextTakeover
        }
    }

    /// zlib compresses with 9 bits at least: a peer that keeps a window of 8 gets its messages as they are.
    package var canCompress: Bool { sendWindowBits > 8 }

    package func shouldCompress(byteCount: Int) -> Bool {
        canCompress && byteCount >= threshold
    }

    package func compress(
        _ input: UnsafeRawBufferPointer, isFinal: Bool, into output: inout ByteBuffer
    ) throws(CompressionFailure) {
        if deflater == nil { deflater = try Deflater(windowBits: sendWindowBits, level: level) }
        guard let deflater else { return }
        try deflater.compress(input, into: &output)
        guard isFinal else { return }
        Self.stripTail(&output)
        if !sendKeepsContext { try deflater.reset() }
    }

    /// RFC 7692 §7.2.1: the flush's 00 00 FF FF is left out; an empty result becomes one empty block's first byte.
    private static func stripTail(_ output: inout ByteBuffer) {
        let hasTail = output.withUnsafeBytes { bytes in
            bytes.count >= 4 && bytes.suffix(4).elementsEqual([0x00, 0x00, 0xFF, 0xFF])
        }
        if hasTail { output.truncate(to: output.count - 4) }
        if output.isEmpty { output.append(0x00) }
    }

    package func decompress(
        _ input: UnsafeRawBufferPointer, isFinal: Bool, into output: inout ByteBuffer, limit: Int
    ) throws(CompressionFailure) {
        // Compressors of zlib's make 9 bits of an agreed 8 (§7.1.2): a larger window reads both.
        if inflater == nil { inflater = try Inflater(windowBits: max(receiveWindowBits, 9)) }
        guard let inflater else { return }
        var room = max(limit, 0)
        try inflater.decompress(input, into: &output, room: &room)
        guard isFinal else { return }
        // RFC 7692 §7.2.2: what the sender left out is put back. Behind a final block that ends the message, or no
        // block at all, there is nothing that it would complete: it would be read as the start of a next one.
        if !inflater.isBetweenBlocks {
            let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
            try tail.span.bytes.withUnsafeBytes { (tail) throws(CompressionFailure) in
                try inflater.decompress(tail, into: &output, room: &room)
            }
        }
        try inflater.endMessage(keepsContext: receiveKeepsContext)
    }
}
