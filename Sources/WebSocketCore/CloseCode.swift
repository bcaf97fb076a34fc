/// The reason in numbers why a connection is closed (RFC 6455 §7.4).
public struct CloseCode: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public var rawValue: UInt16

    /// Any number; `isValidOnWire` tells whether it may be sent.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// 1000: the purpose of the connection has been fulfilled.
    public static let normalClosure = CloseCode(rawValue: 1000)
    /// 1001: an endpoint goes away.
    public static let goingAway = CloseCode(rawValue: 1001)
    /// 1002: the peer broke the protocol.
    public static let protocolError = CloseCode(rawValue: 1002)
    /// 1003: a kind of data that cannot be accepted.
    public static let unsupportedData = CloseCode(rawValue: 1003)
    /// 1005: a close frame without a code. Never on the wire.
    public static let noStatusReceived = CloseCode(rawValue: 1005)
    /// 1006: no close frame at all. Never on the wire.
    public static let abnormalClosure = CloseCode(rawValue: 1006)
    /// 1007: data that does not fit the message's kind, such as text that is no UTF-8.
    public static let invalidPayload = CloseCode(rawValue: 1007)
    /// 1008: a message that violates a policy.
    public static let policyViolation = CloseCode(rawValue: 1008)
    /// 1009: a message that is too big.
    public static let messageTooBig = CloseCode(rawValue: 1009)
    /// 1010: an extension the client needs was not negotiated.
    public static let mandatoryExtension = CloseCode(rawValue: 1010)
    /// 1011: an unexpected condition at the server.
    public static let internalError = CloseCode(rawValue: 1011)

    /// Whether the code may stand in a close frame (RFC 6455 §7.4.1, §7.4.2 and the registry's 1012...1014).
    public var isValidOnWire: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
