extension Connection {
    /// Queues a whole message in one frame, compressed where that is worth it.
    package mutating func send(
        _ kind: MessageKind, _ payload: UnsafeRawBufferPointer, outbox: inout Outbox, maskKeys: inout MaskKeys
    ) throws(SendError) {
        guard closing.isOpen else { throw .closed }
        guard outgoing == nil else { throw .fragmentInProgress }
        if kind == .text {
            var validator = UTF8Validator()
            guard validator.accept(payload), validator.isComplete else { throw .invalidUTF8 }
        }
        let opcode: Opcode = kind == .text ? .text : .binary
        guard let compression, compression.shouldCompress(byteCount: payload.count) else {
            outbox.append(opcode, payload: payload, maskKey: maskKey(&maskKeys))
            return
        }
        let small = try compressed(payload, isFinal: true, by: compression)
        let key = maskKey(&maskKeys)
        small.withUnsafeBytes { outbox.append(opcode, isCompressed: true, payload: $0, maskKey: key) }
    }

    /// Queues a piece of a message as a frame of its own (RFC 6455 §5.4). Text may be cut inside a character.
    ///
    /// - Parameter isCompressible: whether the message may be compressed; counts on its first piece.
    package mutating func sendFragment(
        _ kind: MessageKind, _ payload: UnsafeRawBufferPointer, isFirst: Bool, isFinal: Bool,
        isCompressible: Bool = true, outbox: inout Outbox, maskKeys: inout MaskKeys
    ) throws(SendError) {
        guard closing.isOpen else { throw .closed }
        // `outgoing` is set once the piece is queued: one that is refused leaves things as they were.
        var message: OutgoingMessage
        if isFirst {
            guard outgoing == nil else { throw .fragmentInProgress }
            message = OutgoingMessage(
                kind: kind, isCompressed: isCompressible && compression?.canCompress == true)
        } else {
            guard let outgoing else { throw .noFragmentInProgress }
            message = outgoing
        }
        if message.kind == .text {
            guard message.validator.accept(payload), !isFinal || message.validator.isComplete else {
                throw .invalidUTF8
            }
        }
        let opcode: Opcode = message.hasSent ? .continuation : message.kind == .text ? .text : .binary
        let isMarked = message.isCompressed && !message.hasSent
        if message.isCompressed, let compression {
            let small = try compressed(payload, isFinal: isFinal, by: compression)
            // A frame that carries nothing is not worth sending.
            if !small.isEmpty || isFinal || !message.hasSent {
                let key = maskKey(&maskKeys)
                small.withUnsafeBytes {
                    outbox.append(opcode, isFinal: isFinal, isCompressed: isMarked, payload: $0, maskKey: key)
                }
            }
        } else {
            outbox.append(opcode, isFinal: isFinal, payload: payload, maskKey: maskKey(&maskKeys))
        }
        message.hasSent = true
        outgoing = isFinal ? nil : message
    }

    /// Queues a ping of at most 125 bytes, ahead of waiting data.
    package mutating func sendPing(
        _ payload: UnsafeRawBufferPointer, outbox: inout Outbox, maskKeys: inout MaskKeys
    ) throws(SendError) {
        try sendControl(.ping, payload, &outbox, &maskKeys)
    }

    /// Queues an unasked-for pong of at most 125 bytes (RFC 6455 §5.5.3).
    package mutating func sendPong(
        _ payload: UnsafeRawBufferPointer, outbox: inout Outbox, maskKeys: inout MaskKeys
    ) throws(SendError) {
        try sendControl(.pong, payload, &outbox, &maskKeys)
    }

    private mutating func sendControl(
        _ opcode: Opcode, _ payload: UnsafeRawBufferPointer, _ outbox: inout Outbox,
        _ maskKeys: inout MaskKeys
    ) throws(SendError) {
        guard closing.isOpen else { throw .closed }
        guard payload.count <= 125 else { throw .controlTooLong(payload.count) }
        outbox.expedite(opcode, payload: payload, maskKey: maskKey(&maskKeys))
    }

    /// Queues our close frame behind everything that waits, and ends sending.
    package mutating func sendClose(
        _ frame: CloseFrame, outbox: inout Outbox, maskKeys: inout MaskKeys
    ) throws(SendError) {
        guard closing.isOpen else { throw .closed }
        _ = try frame.payload()
        queueClose(frame, &outbox, &maskKeys)
        outgoing = nil
        closing = .sent(frame)
    }

    private func compressed(
        _ payload: UnsafeRawBufferPointer, isFinal: Bool, by compression: any MessageCompression
    ) throws(SendError) -> ByteBuffer {
        var small = ByteBuffer()
        do throws(CompressionFailure) {
            try compression.compress(payload, isFinal: isFinal, into: &small)
        } catch {
            throw .compression(error)
        }
        return small
    }
}
