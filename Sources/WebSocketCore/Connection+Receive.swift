extension Connection {
    /// The next event in `input` from `offset` on, or nil when all of it is used.
    ///
    /// - Throws: the peer's violation, once. The close frame that tells the peer is in `outbox`, and all that is read
    ///   afterwards is ignored.
    package mutating func nextEvent(
        in input: UnsafeRawBufferPointer, at offset: inout Int, outbox: inout Outbox, maskKeys: inout MaskKeys
    ) throws(ProtocolViolation) -> Event? {
        if isAssemblyDelivered {
            assembled.removeAll(keeping: 256 << 10)
            isAssemblyDelivered = false
        }
        do throws(ProtocolViolation) {
            while true {
                switch reading {
                case .header:
                    guard let header = try readHeader(input, &offset) else { return nil }
                    if let event = try begin(header, input, &offset) { return event }
                case .payload(let header, let taken):
                    let available = min(header.payloadCount - taken, input.count - offset)
                    let isWhole = taken + available == header.payloadCount
                    if available == 0, !isWhole { return nil }
                    let range = offset..<offset + available
                    offset += available
                    reading = isWhole ? .header : .payload(header, taken: taken + available)
                    let event =
                        header.opcode.isControl
                        ? try receiveControl(header, taken, range, isWhole, input, &outbox, &maskKeys)
                        : try receiveData(header, taken, range, isWhole, input)
                    if let event { return event }
                    if !isWhole { return nil }
                case .ended:
                    // RFC 6455 §5.5.1: what follows a close frame means nothing.
                    offset = input.count
                    return nil
                }
            }
        } catch {
            fail(error, &outbox, &maskKeys)
            throw error
        }
    }

    /// RFC 6455 §7.1.7: tells the peer why, unless a close frame went out before, and reads no further.
    private mutating func fail(
        _ violation: ProtocolViolation, _ outbox: inout Outbox, _ maskKeys: inout MaskKeys
    ) {
        reading = .ended
        incoming = nil
        let frame: CloseFrame
        if let sent = closing.sent {
            frame = sent
        } else {
            frame = CloseFrame(code: violation.closeCode, reason: violation.message.prefix(utf8Count: 123))
            queueClose(frame, &outbox, &maskKeys)
        }
        closing = .failed(sent: frame)
    }

    /// Puts a close frame that is known to be valid behind everything that waits.
    mutating func queueClose(_ frame: CloseFrame, _ outbox: inout Outbox, _ maskKeys: inout MaskKeys) {
        let payload = (try? frame.payload()) ?? []
        let key = maskKey(&maskKeys)
        payload.withUnsafeBytes { outbox.append(.close, payload: $0, maskKey: key) }
    }

    func maskKey(_ maskKeys: inout MaskKeys) -> UInt32? {
        role == .client ? maskKeys.draw() : nil
    }

    private mutating func readHeader(
        _ input: UnsafeRawBufferPointer, _ offset: inout Int
    ) throws(ProtocolViolation) -> FrameHeader? {
        guard let base = input.baseAddress, offset < input.count else { return nil }
        if cutHeader.isEmpty {
            if let header = try decoder.header(at: base + offset, available: input.count - offset) {
                offset += header.byteCount
                return header
            }
            cutHeader.append(contentsOf: input[offset...])
            offset = input.count
            return nil
        }
        while offset < input.count {
            cutHeader.append(input[offset])
            offset += 1
            let bytes = cutHeader
            let header = try bytes.span.bytes.withUnsafeBytes {
                (bytes) throws(ProtocolViolation) -> FrameHeader? in
                guard let base = bytes.baseAddress else { return nil }
                return try decoder.header(at: base, available: bytes.count)
            }
            if let header {
                cutHeader.removeAll()
                return header
            }
        }
        return nil
    }

    /// Takes a head in: an event at once when it is the whole, plain message of the common case.
    @inline(__always)
    private mutating func begin(
        _ header: FrameHeader, _ input: UnsafeRawBufferPointer, _ offset: inout Int
    ) throws(ProtocolViolation) -> Event? {
        reading = .payload(header, taken: 0)
        if header.opcode.isControl {
            control.removeAll(keepingCapacity: true)
            return nil
        }
        let available = input.count - offset
        if incoming == nil, header.isFinal, !header.isCompressed, header.opcode != .continuation,
            role == .client,
            !isStreaming, closing.isOpen, header.payloadCount <= available,
            header.payloadCount <= limits.maxMessageBytes
        {
            let range = offset..<offset &+ header.payloadCount
            if header.opcode == .text {
                var validator = UTF8Validator()
                guard validator.accept(UnsafeRawBufferPointer(rebasing: input[range])), validator.isComplete
                else {
                    throw Self.notUTF8()
                }
            }
            offset = range.upperBound
            reading = .header
            return .message(header.opcode == .text ? .text : .binary, .input(range))
        }
        try beginData(header)
        return nil
    }

    private mutating func beginData(_ header: FrameHeader) throws(ProtocolViolation) {
        if header.opcode == .continuation {
            guard incoming != nil else {
                throw ProtocolViolation(
                    "RFC 6455 §5.4", .protocolError, "a continuation frame continues no message")
            }
        } else {
            guard incoming == nil else {
                throw ProtocolViolation(
                    "RFC 6455 §5.4", .protocolError, "a message begins before the last one has ended")
            }
            incoming = IncomingMessage(
                kind: header.opcode == .text ? .text : .binary, isCompressed: header.isCompressed)
        }
        if let incoming, !incoming.isCompressed {
            try checkSize(incoming.byteCount, adding: header.payloadCount)
        }
    }

    private func checkSize(_ count: Int, adding more: Int) throws(ProtocolViolation) {
        // Both are below the limits, which are far below what an Int holds.
        guard count &+ more <= limits.maxMessageBytes else { throw Self.tooBig(limits.maxMessageBytes) }
    }

    private static func tooBig(_ limit: Int) -> ProtocolViolation {
        ProtocolViolation("RFC 6455 §10.4", .messageTooBig, "a message is above maxMessageBytes, \(limit)")
    }

    static func notUTF8() -> ProtocolViolation {
        ProtocolViolation("RFC 6455 §8.1", .invalidPayload, "a text message is not UTF-8")
    }

    private mutating func receiveData(
        _ header: FrameHeader, _ taken: Int, _ range: Range<Int>, _ isFrameWhole: Bool,
        _ input: UnsafeRawBufferPointer
    ) throws(ProtocolViolation) -> Event? {
        guard var message = incoming else { return nil }
        let isMessageWhole = isFrameWhole && header.isFinal
        let bytes = UnsafeRawBufferPointer(rebasing: input[range])
        // What is dropped behind our own close frame is checked all the same, but not kept.
        let isKept = closing.isOpen
        let isInPlace = isStreaming && role == .client && !message.isCompressed
        let before = assembled.count
        if isInPlace {
            guard message.kind == .binary || message.validator.accept(bytes) else { throw Self.notUTF8() }
            message.byteCount += bytes.count
        } else {
            try assemble(bytes, header, taken, message, isMessageWhole: isMessageWhole)
            let added = assembled.count - before
            message.byteCount += added
            if message.kind == .text {
                let isValid = assembled.withUnsafeBytes { all in
                    message.validator.accept(UnsafeRawBufferPointer(rebasing: all[before...]))
                }
                guard isValid else { throw Self.notUTF8() }
            }
        }
        if isMessageWhole, message.kind == .text, !message.validator.isComplete { throw Self.notUTF8() }
        incoming = isMessageWhole ? nil : message
        guard isKept else {
            assembled.truncate(to: 0)
            return nil
        }
        if !isStreaming {
            guard isMessageWhole else { return nil }
            isAssemblyDelivered = true
            return .message(message.kind, .assembled)
        }
        let isFirst = !message.hasDelivered
        if !isInPlace { isAssemblyDelivered = true }
        if !isMessageWhole, (isInPlace ? bytes.isEmpty : assembled.isEmpty) { return nil }
        if incoming != nil { incoming?.hasDelivered = true }
        return .fragment(
            message.kind, isInPlace ? .input(range) : .assembled, isFirst: isFirst, isFinal: isMessageWhole)
    }

    /// Adds a piece to the assembly buffer: unmasked, inflated.
    private mutating func assemble(
        _ bytes: UnsafeRawBufferPointer, _ header: FrameHeader, _ taken: Int, _ message: IncomingMessage,
        isMessageWhole: Bool
    ) throws(ProtocolViolation) {
        guard message.isCompressed, let compression else {
            // Room for the frame at once, but never much more than has really come.
            assembled.reserve(min(header.payloadCount - taken, max(bytes.count, assembled.count, 64 << 10)))
            Self.append(bytes, header, taken, unmasked: role == .server, to: &assembled)
            return
        }
        let room = limits.maxMessageBytes - message.byteCount
        do throws(CompressionFailure) {
            if role == .server {
                var plain = ByteBuffer()
                Self.append(bytes, header, taken, unmasked: true, to: &plain)
                try plain.withUnsafeBytes { (plain) throws(CompressionFailure) in
                    try compression.decompress(plain, isFinal: isMessageWhole, into: &assembled, limit: room)
                }
            } else {
                try compression.decompress(bytes, isFinal: isMessageWhole, into: &assembled, limit: room)
            }
        } catch {
            switch error {
            case .limitExceeded: throw Self.tooBig(limits.maxMessageBytes)
            case .corrupt(let why):
                throw ProtocolViolation(
                    "RFC 7692 §7.2.2", .invalidPayload, "a compressed message does not inflate: \(why)")
            case .outOfMemory:
                throw ProtocolViolation("RFC 7692 §7.2.2", .internalError, "no memory to inflate a message")
            }
        }
    }

    private static func append(
        _ bytes: UnsafeRawBufferPointer, _ header: FrameHeader, _ taken: Int, unmasked: Bool,
        to buffer: inout ByteBuffer
    ) {
        guard unmasked else {
            buffer.append(bytes)
            return
        }
        buffer.append(upTo: bytes.count) { room in
            room.copyMemory(from: bytes)
            Masking.apply(Masking.key(header.maskKey, after: taken), to: room)
            return bytes.count
        }
    }

    private mutating func receiveControl(
        _ header: FrameHeader, _ taken: Int, _ range: Range<Int>, _ isWhole: Bool,
        _ input: UnsafeRawBufferPointer,
        _ outbox: inout Outbox, _ maskKeys: inout MaskKeys
    ) throws(ProtocolViolation) -> Event? {
        let isInPlace = role == .client && taken == 0 && isWhole
        if !isInPlace {
            control.append(contentsOf: input[range])
            if !isWhole { return nil }
            if role == .server { control.withUnsafeMutableBytes { Masking.apply(header.maskKey, to: $0) } }
        }
        let payload: Payload = isInPlace ? .input(range) : .control
        switch header.opcode {
        case .ping:
            // RFC 6455 §5.5.2: each ping has its pong; but nothing of ours follows our own close frame (§1.4).
            if closing.isOpen, answersPings {
                let key = maskKey(&maskKeys)
                withBytes(of: payload, in: input) { outbox.expedite(.pong, payload: $0, maskKey: key) }
            }
            return .ping(payload)
        case .pong:
            return .pong(payload)
        default:
            let received = try withBytes(of: payload, in: input) { (bytes) throws(ProtocolViolation) in
                try CloseFrame(payload: bytes)
            }
            complete(received, &outbox, &maskKeys)
            return .close(received)
        }
    }

    /// The peer's close frame ends what we read. RFC 6455 §5.5.1: ours, if it is the answer, echoes the code.
    private mutating func complete(
        _ received: CloseFrame, _ outbox: inout Outbox, _ maskKeys: inout MaskKeys
    ) {
        reading = .ended
        incoming = nil
        switch closing {
        case .sent(let sent):
            closing = .complete(sent: sent, received: received, first: .us)
        case .notBegun:
            let answer = CloseFrame(code: received.code)
            queueClose(answer, &outbox, &maskKeys)
            closing = .complete(sent: answer, received: received, first: .peer)
        case .complete, .failed:
            break
        }
    }
}

extension String {
    /// The start of the string that takes at most `utf8Count` bytes, cut between characters.
    func prefix(utf8Count: Int) -> String {
        if utf8.count <= utf8Count { return self }
        var result = ""
        var count = 0
        for scalar in unicodeScalars {
            count += scalar.utf8.count
            if count > utf8Count { break }
            result.unicodeScalars.append(scalar)
        }
        return result
    }
}
