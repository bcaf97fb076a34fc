/// Frames that wait to be written. Control frames pass ahead of waiting data frames, but never go inside a frame that
/// is partly written (RFC 6455 §5.4, §5.5).
///
/// Control frames gather apart and join the queue in one go, so that a peer's flood of pings does not move the waiting
/// data once a ping; and pongs beyond `maxPongBytes` replace one another, so that it does not fill the memory either.
package struct Outbox: ~Copyable {
    /// How many bytes of pongs may wait for a peer that pings and does not read.
    package static let maxPongBytes = 256 << 10

    private var buffer = ByteBuffer()
    /// How far from the front the first frame begins that has not been started: control frames go in there.
    private var boundary = 0
    /// How many bytes before the boundary are control frames that were put there.
    private var joined = 0
    /// Control frames that are not in `buffer` yet.
    private var control = ByteBuffer()
    /// Where in `control` its last frame begins, if that is a pong.
    private var lastPong: Int?

    package init() {}

    /// Bytes that wait.
    package var count: Int { buffer.count + control.count }
    package var isEmpty: Bool { buffer.isEmpty && control.isEmpty }

    /// The waiting bytes, in the order in which they are to be written; control frames may follow once these are gone.
    package mutating func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Those that joined before go first: what waits apart stays bounded, however long the peer does not read.
        if joined == 0 { joinControl() }
        return try buffer.withUnsafeBytes(body)
    }

    /// Tells that the first `count` bytes have been written.
    package mutating func consume(_ count: Int) {
        if count == buffer.count {
            boundary = 0
            joined = 0
        } else {
            if count >= boundary { joined = 0 }
            // The heads are our own, so their lengths can be trusted.
            while boundary < count { boundary += frameByteCount(at: boundary) }
            boundary -= count
            joined = min(joined, boundary)
        }
        buffer.consume(count)
    }

    /// Tells that the first `count` bytes can no longer change, although they wait: TLS has encrypted them already.
    /// Control frames go in behind the frame in which they end.
    package mutating func commit(_ count: Int) {
        while boundary < min(count, buffer.count) {
            boundary += frameByteCount(at: boundary)
            // What joined lies before the bytes that were committed: the next may join, or it would wait for ever
            // where each write is committed first and ends inside a frame.
            joined = 0
        }
    }

    /// Gives memory back that an idle connection does not need.
    package mutating func releaseIdleMemory(keeping: Int = 0) {
        if buffer.isEmpty { buffer.removeAll(keeping: keeping) }
        if control.isEmpty { control.removeAll() }
    }

    /// Forgets all that waits.
    package mutating func removeAll() {
        buffer.removeAll()
        control.removeAll()
        boundary = 0
        joined = 0
        lastPong = nil
    }

    mutating func append(
        _ opcode: Opcode, isFinal: Bool = true, isCompressed: Bool = false, payload: UnsafeRawBufferPointer,
        maskKey: UInt32?
    ) {
        // RFC 6455 §5.5.1: nothing may follow a close frame, so what waits apart goes before it.
        if opcode == .close { joinControl() }
        FrameEncoder.append(
            opcode, isFinal: isFinal, isCompressed: isCompressed, payload: payload, maskKey: maskKey,
            to: &buffer)
    }

    /// Puts a control frame ahead of data frames that have not been started, behind control frames put there before.
    mutating func expedite(_ opcode: Opcode, payload: UnsafeRawBufferPointer, maskKey: UInt32?) {
        if opcode == .pong {
            // RFC 6455 §5.5.3: of several pings that wait for their pongs, only the last needs one.
            if let lastPong, control.count > Self.maxPongBytes { control.truncate(to: lastPong) }
            lastPong = control.count
        } else {
            lastPong = nil
        }
        FrameEncoder.append(opcode, isFinal: true, payload: payload, maskKey: maskKey, to: &control)
    }

    private mutating func joinControl() {
        guard !control.isEmpty else { return }
        let place = boundary
        control.withUnsafeBytes { buffer.insert($0, at: place) }
        boundary += control.count
        joined += control.count
        control.removeAll(keeping: 512)
        lastPong = nil
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
