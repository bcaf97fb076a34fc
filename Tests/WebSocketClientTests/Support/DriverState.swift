@testable import WebSocketClient

extension WebSocketDriver {
    /// Whether a task waits for room to send.
    var hasWaiters: Bool { waiters.count > 0 }

    /// Whether the peer's close frame has come.
    var hasReceivedClose: Bool { wire.connection.closing.received != nil }

    /// Where dialing has come to; nil before and afterwards.
    var dialPhase: WebSocketError.Phase? {
        if case .dialing(let dial) = phase { dial.phase } else { nil }
    }
}
