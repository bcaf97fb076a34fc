@testable import WebSocketClient

extension WebSocketDriver {
    /// Whether a task waits for room to send.
    var hasWaiters: Bool { waiters.count > 0 }
}
