import SystemTLS
import WebSocketCore
import WebSocketDeflate

/// The pure part of one connection in one place: the protocol's state, what waits to be written, and masking keys.
struct Wire: ~Copyable {
    var connection: Connection
    var outbox = Outbox()
    private var maskKeys = MaskKeys(count: 32, refill: fillRandom)

    init(role: Role, settings: ConnectionSettings, deflate: DeflateParameters?) {
        let compression = deflate.map { agreed in
            PerMessageDeflate(role: role, agreed: agreed, options: settings.deflate ?? DeflateOptions())
        }
        connection = Connection(
            role: role, limits: settings.limits, compression: compression,
            isStreaming: settings.streamsMessages)
    }

    mutating func nextEvent(
        in input: UnsafeRawBufferPointer, at offset: inout Int
    ) throws(ProtocolViolation) -> Event? {
        try connection.nextEvent(in: input, at: &offset, outbox: &outbox, maskKeys: &maskKeys)
    }

    mutating func send(_ kind: MessageKind, _ bytes: UnsafeRawBufferPointer) throws(SendError) {
        try connection.send(kind, bytes, outbox: &outbox, maskKeys: &maskKeys)
    }

    mutating func sendFragment(
        _ kind: MessageKind, _ bytes: UnsafeRawBufferPointer, isFirst: Bool, isFinal: Bool
    ) throws(SendError) {
        try connection.sendFragment(
            kind, bytes, isFirst: isFirst, isFinal: isFinal, outbox: &outbox, maskKeys: &maskKeys)
    }

    mutating func sendPing(_ payload: [UInt8]) throws(SendError) {
        try payload.span.bytes.withUnsafeBytes { (bytes) throws(SendError) in
            try connection.sendPing(bytes, outbox: &outbox, maskKeys: &maskKeys)
        }
    }

    mutating func sendClose(_ frame: CloseFrame) throws(SendError) {
        try connection.sendClose(frame, outbox: &outbox, maskKeys: &maskKeys)
    }
}

/// What a driver keeps of the options.
struct ConnectionSettings: Sendable {
    var limits: Limits
    var deflate: DeflateOptions?
    var connectTimeout: Duration
    var closeTimeout: Duration
    var keepalive: WebSocketOptions.Keepalive?
    var writeHighWater: Int
    var writeLowWater: Int
    var streamsMessages: Bool

    init(_ options: WebSocketOptions) {
        limits = options.limits
        deflate = options.deflate
        connectTimeout = options.connectTimeout
        closeTimeout = options.closeTimeout
        keepalive = options.keepalive
        writeHighWater = max(options.writeHighWater, 0)
        writeLowWater = min(max(options.writeLowWater, 0), writeHighWater)
        streamsMessages = options.streamsMessages
    }
}
