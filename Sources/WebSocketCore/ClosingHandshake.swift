/// How far the closing handshake has come (RFC 6455 §7.1.2, §7.1.3).
package enum ClosingHandshake: Equatable, Sendable {
    case notBegun
    /// We sent a close frame and wait for the peer's.
    case sent(CloseFrame)
    /// Both close frames went over the wire.
    case complete(sent: CloseFrame, received: CloseFrame, first: Side)
    /// The peer broke the protocol: we sent a close frame and read no further.
    case failed(sent: CloseFrame)

    package enum Side: Sendable {
        case us
        case peer
    }

    /// Whether application messages may still be sent.
    package var isOpen: Bool { self == .notBegun }

    package var sent: CloseFrame? {
        switch self {
        case .notBegun: nil
        case .sent(let frame), .complete(let frame, _, _), .failed(let frame): frame
        }
    }

    package var received: CloseFrame? {
        if case .complete(_, let frame, _) = self { frame } else { nil }
    }
}

extension CloseFrame {
    /// Reads a close frame's payload and holds it against RFC 6455 §5.5.1 and §7.4.
    init(payload: UnsafeRawBufferPointer) throws(ProtocolViolation) {
        if payload.isEmpty {
            self.init(code: nil)
            return
        }
        guard payload.count >= 2 else {
            throw ProtocolViolation("RFC 6455 §5.5.1", .protocolError, "the close frame has half a code")
        }
        let code = CloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        guard code.isValidOnWire else {
            throw ProtocolViolation(
                "RFC 6455 §7.4", .protocolError,
                "the close frame has the code \(code.rawValue), which none may have")
        }
        let reason = UnsafeRawBufferPointer(rebasing: payload[2...])
        var validator = UTF8Validator()
        guard validator.accept(reason), validator.isComplete else {
            throw ProtocolViolation(
                "RFC 6455 §5.5.1", .invalidPayload, "the close frame's reason is not UTF-8")
        }
        self.init(code: code, reason: String(decoding: reason, as: UTF8.self))
    }

    /// The payload of a frame that says this, checked as we would check the peer's.
    func payload() throws(SendError) -> [UInt8] {
        guard let code else {
            if !reason.isEmpty { throw .invalidCloseCode(CloseCode.noStatusReceived.rawValue) }
            return []
        }
        guard code.isValidOnWire else { throw .invalidCloseCode(code.rawValue) }
        // RFC 6455 §5.5: 125 bytes less the two of the code.
        let text = Array(reason.utf8)
        guard text.count <= 123 else { throw .reasonTooLong(text.count) }
        return [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)] + text
    }
}
