@testable import WebSocketClient

extension WebSocketDriver {
    /// Whether a task waits for room to send.
    var hasWaiters: Bool { waiters.count > 0 }

    /// Whether the peer's close frame has come.
    var hasReceivedClose: Bool { wire.connection.closing.received != nil }
}
