/// A WebSocket after its opening handshake: bytes in, events and frames out. Both roles, no clock, no socket.
///
/// The owner gives the bytes it read, pulls events until there is none, and writes what is in the outbox. The state
/// that spans reads is of three kinds: the frame being read (`Reading`), the message its frames belong to
/// (`IncomingMessage`), and the closing handshake.
package struct Connection: ~Copyable {
    package let role: Role
    package let limits: Limits
    /// Whether messages are given in pieces as they arrive, not whole.
    package let isStreaming: Bool
    /// Where the closing handshake stands.
    package internal(set) var closing = ClosingHandshake.notBegun

    /// Whether pings are answered, as RFC 6455 §5.5.2 wants it. Off only to show what a dead peer looks like.
    package var answersPings = true

    let compression: (any MessageCompression)?
    let decoder: FrameDecoder
    var reading = Reading.header
    var incoming: IncomingMessage?
    var outgoing: OutgoingMessage?
    /// The start of a head that the input's end cut.
    var cutHeader: [UInt8] = []
    var assembled: ByteBuffer
    var isAssemblyDelivered = false
    var control: [UInt8] = []

    /// The frame that is being read.
    enum Reading {
        case header
        case payload(FrameHeader, taken: Int)
        /// Nothing more is read: behind a close frame, or behind a violation.
        case ended
    }

    /// A message whose last frame has not been read whole.
    struct IncomingMessage {
        let kind: MessageKind
        let isCompressed: Bool
        var byteCount = 0
        var validator = UTF8Validator()
        var hasDelivered = false
    }

    /// A message of which fragments have been sent, but not the last.
    struct OutgoingMessage {
        let kind: MessageKind
        let isCompressed: Bool
        var hasSent = false
        var validator = UTF8Validator()
    }

    package init(
        role: Role, limits: Limits = Limits(), compression: (any MessageCompression)? = nil,
        isStreaming: Bool = false
    ) {
        self.role = role
        self.limits = limits
        self.compression = compression
        self.isStreaming = isStreaming
        assembled = ByteBuffer(ceiling: limits.maxMessageBytes)
        decoder = FrameDecoder(
            role: role, maxFrameBytes: limits.maxFrameBytes, allowsCompression: compression != nil)
    }

    /// Whether a message has begun and not ended: the transport's end would cut it.
    package var isInsideMessage: Bool {
        switch reading {
        case .header: incoming != nil || !cutHeader.isEmpty
        case .payload: true
        case .ended: false
        }
    }

    /// How much memory is held for messages that are put together.
    package var assemblyByteCount: Int { assembled.allocatedByteCount }

    /// The bytes of an event's payload. `input` is what the same call of `nextEvent` was given.
    package func withBytes<Result: ~Copyable, Failure: Error>(
        of payload: Payload, in input: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch payload {
        case .input(let range): return try body(UnsafeRawBufferPointer(rebasing: input[range]))
        case .assembled: return try assembled.withUnsafeBytes(body)
        case .control:
            // An array's own buffer lives as long as the call.
            let bytes = control
            let span = bytes.span.bytes
            return try span.withUnsafeBytes(body)
        }
    }

    /// Takes the assembled message away whole, leaving an empty buffer: no copy of a large message is made.
    package mutating func takeAssembled() -> ByteBuffer {
        isAssemblyDelivered = false
        return exchange(&assembled, with: ByteBuffer(ceiling: limits.maxMessageBytes))
    }

    /// Takes the buffer of a message back, once it has been read, so that its memory serves the next one.
    package mutating func recycle(_ buffer: consuming ByteBuffer) {
        guard assembled.isEmpty, buffer.allocatedByteCount <= 256 << 10 else { return }
        buffer.removeAll(keeping: 256 << 10)
        assembled = buffer
    }

    /// Gives memory back that an idle connection does not need. Call it when a burst of reading is over.
    package mutating func releaseIdleMemory() {
        if isAssemblyDelivered || incoming == nil {
            assembled.removeAll()
            isAssemblyDelivered = false
        }
    }
}

@inline(__always)
func exchange<Value: ~Copyable>(_ value: inout Value, with new: consuming Value) -> Value {
    let old = value
    value = new
    return old
}
