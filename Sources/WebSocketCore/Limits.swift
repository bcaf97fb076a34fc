/// What a connection accepts and keeps at most. Each limit is checked before a byte is kept.
public struct Limits: Sendable, Equatable {
    /// The most bytes of one message, after inflating. Default 64 MiB; beyond it the connection fails with 1009.
    public var maxMessageBytes = 64 << 20
    /// The most bytes of one frame's payload as it comes over the wire. Default 64 MiB; beyond it 1009.
    public var maxFrameBytes = 64 << 20
    /// The most bytes of the opening handshake's head. Default 32 KiB.
    public var maxHeadBytes = 32 << 10
    /// The most header fields of the opening handshake. Default 256.
    public var maxHeadFields = 256
    /// How much of a refusal's body is kept for the error. Default 4 KiB.
    public var maxRefusalBodyBytes = 4096

    /// The defaults.
    public init() {}
}
