import WebSocketCore

/// What a test sees of a connection: its events with their payloads, and its end.
enum Seen: Equatable, Sendable {
    case text(String)
    case binary([UInt8])
    case piece(MessageKind, [UInt8], isFirst: Bool, isFinal: Bool)
    case ping([UInt8])
    case pong([UInt8])
    case close(UInt16?, String)
    /// The peer broke a rule: the code it is told, and the rule.
    case failed(UInt16, String)
}

/// One end of a connection in a test's hand: bytes in, what it saw out, and what it wrote.
final class Endpoint {
    var connection: Connection
    var outbox = Outbox()
    // Keys that are easy to read in a failure's bytes.
    var maskKeys = MaskKeys(count: 4) { room in
        for index in room.indices { room[index] = UInt8(truncatingIfNeeded: index &+ 1) }
    }

    init(
        _ role: Role = .client, limits: Limits = Limits(), compression: (any MessageCompression)? = nil,
        isStreaming: Bool = false
    ) {
        connection = Connection(
            role: role, limits: limits, compression: compression, isStreaming: isStreaming)
    }

    var isInsideMessage: Bool { connection.isInsideMessage }

    /// Everything the connection sees in these bytes, given in one piece.
    @discardableResult
    func receive(_ bytes: [UInt8]) -> [Seen] {
        var seen: [Seen] = []
        bytes.withUnsafeBytes { input in
            var offset = 0
            while true {
                do throws(ProtocolViolation) {
                    guard
                        let event = try connection.nextEvent(
                            in: input, at: &offset, outbox: &outbox, maskKeys: &maskKeys)
                    else { return }
                    seen.append(resolve(event, input))
                } catch {
                    seen.append(.failed(error.closeCode.rawValue, error.section))
                }
            }
        }
        return seen
    }

    /// The same, in pieces.
    func receive(pieces: some Sequence<ArraySlice<UInt8>>) -> [Seen] {
        pieces.flatMap { receive(Array($0)) }
    }

    private func resolve(_ event: Event, _ input: UnsafeRawBufferPointer) -> Seen {
        func bytes(_ payload: Payload) -> [UInt8] {
            connection.withBytes(of: payload, in: input) { Array($0) }
        }
        switch event {
        case .message(.text, let payload): return .text(String(decoding: bytes(payload), as: UTF8.self))
        case .message(.binary, let payload): return .binary(bytes(payload))
        case .fragment(let kind, let payload, let isFirst, let isFinal):
            return .piece(kind, bytes(payload), isFirst: isFirst, isFinal: isFinal)
        case .ping(let payload): return .ping(bytes(payload))
        case .pong(let payload): return .pong(bytes(payload))
        case .close(let frame): return .close(frame.code?.rawValue, frame.reason)
        }
    }

    /// Takes what waits to be written.
    func written() -> [UInt8] {
        var bytes: [UInt8] = []
        while !outbox.isEmpty {
            let piece = outbox.withUnsafeBytes { Array($0) }
            outbox.consume(piece.count)
            bytes += piece
        }
        return bytes
    }

    func send(_ text: String) throws(SendError) {
        try send(.text, Array(text.utf8))
    }

    func send(_ kind: MessageKind, _ bytes: [UInt8]) throws(SendError) {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SendError) in
            try connection.send(kind, bytes, outbox: &outbox, maskKeys: &maskKeys)
        }
    }

    func sendPiece(
        _ kind: MessageKind, _ bytes: [UInt8], isFirst: Bool = false, isFinal: Bool = false
    ) throws(SendError) {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SendError) in
            try connection.sendFragment(
                kind, bytes, isFirst: isFirst, isFinal: isFinal, outbox: &outbox, maskKeys: &maskKeys)
        }
    }

    func ping(_ bytes: [UInt8]) throws(SendError) {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SendError) in
            try connection.sendPing(bytes, outbox: &outbox, maskKeys: &maskKeys)
        }
    }

    func pong(_ bytes: [UInt8]) throws(SendError) {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SendError) in
            try connection.sendPong(bytes, outbox: &outbox, maskKeys: &maskKeys)
        }
    }

    func close(_ code: UInt16?, _ reason: String = "") throws(SendError) {
        try connection.sendClose(
            CloseFrame(code: code.map(CloseCode.init(rawValue:)), reason: reason), outbox: &outbox,
            maskKeys: &maskKeys)
    }
}

/// Random numbers that a seed repeats (SplitMix64).
struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }

    /// Text of characters of every length.
    mutating func text(_ count: Int) -> String {
        var text = ""
        for _ in 0..<count {
            text.unicodeScalars.append(
                ["a", "é", "€", "😀", "\u{0}", "\u{7FF}", "\u{FFFD}"].randomElement(using: &self) ?? "a")
        }
        return text
    }

    /// `bytes` cut into pieces of random lengths.
    mutating func cut(_ bytes: [UInt8], atMost length: Int) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var start = 0
        while start < bytes.count {
            let end = min(start + Int.random(in: 1...length, using: &self), bytes.count)
            pieces.append(bytes[start..<end])
            start = end
        }
        return pieces
    }
}

/// The bytes of one frame, written by hand so that the encoder under test is not its own judge.
func frame(
    _ first: UInt8, _ payload: [UInt8] = [], mask: [UInt8]? = nil
) -> [UInt8] {
    var bytes = [first]
    let flag: UInt8 = mask == nil ? 0 : 0x80
    switch payload.count {
    case ...125: bytes.append(flag | UInt8(payload.count))
    case ...0xFFFF: bytes += [flag | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    default: bytes += [flag | 127] + (0..<8).map { UInt8(payload.count >> (56 - 8 * $0) & 0xFF) }
    }
    guard let mask else { return bytes + payload }
    return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
}

func frame(_ first: UInt8, _ text: String, mask: [UInt8]? = nil) -> [UInt8] {
    frame(first, Array(text.utf8), mask: mask)
}
