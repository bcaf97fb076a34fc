/// What an application message holds (RFC 6455 §5.6).
public enum MessageKind: Sendable, Hashable {
    case text
    case binary
}

/// Which end of the connection this is: clients mask, servers do not (RFC 6455 §5.1).
package enum Role: Sendable {
    case client
    case server
}

/// RFC 6455 §5.2.
package enum Opcode: UInt8, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    package var isControl: Bool { rawValue >= 0x8 }
}

/// The head of one frame, checked for what a head alone can show.
struct FrameHeader {
    /// The most bytes a head takes: two, a 64-bit length and a masking key.
    static let maximumByteCount = 14

    var isFinal: Bool
    var isCompressed: Bool
    var opcode: Opcode
    var payloadCount: Int
    var maskKey: UInt32
    var byteCount: Int
}
