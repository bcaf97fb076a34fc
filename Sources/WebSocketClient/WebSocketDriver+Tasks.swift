import SystemIO
import WebSocketCore

/// What tasks ask of a connection: sending that waits for room.
extension WebSocketDriver {
    func send(_ kind: MessageKind, _ bytes: [UInt8]) async throws {
        try await waitForTurn(writer: nil)
        do throws(SendError) {
            try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SendError) in try wire.send(kind, bytes) }
        } catch {
            throw WebSocketError(error)
        }
        flushUnlessInBurst()
    }

    /// Waits until no other message is being sent in pieces, and takes the right to do so.
    func beginMessage() async throws -> UInt64 {
        try await waitForTurn(writer: nil)
        let number = waiters.newNumber()
        activeWriter = number
        return number
    }

    func sendFragment(
        _ kind: MessageKind, _ bytes: [UInt8], isFirst: Bool, isFinal: Bool, writer: UInt64
    ) async throws {
        try await waitForTurn(writer: writer)
        do throws(SendError) {
            try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SendError) in
                try wire.sendFragment(kind, bytes, isFirst: isFirst, isFinal: isFinal)
            }
        } catch {
            throw WebSocketError(error)
        }
        flushUnlessInBurst()
    }

    /// Gives the right back. A message that was left in the middle cannot be taken back: the connection is closed.
    func endMessage(_ writer: UInt64, isComplete: Bool) {
        guard activeWriter == writer else { return }
        activeWriter = nil
        if !isComplete { close(CloseFrame(code: .internalError, reason: "a message was given up")) }
        waiters.wakeAll()
    }

    private func waitForTurn(writer: UInt64?) async throws {
        try Task.checkCancellation()
        while true {
            guard case .open = phase, wire.connection.closing.isOpen else { throw WebSocketError.closed }
            if activeWriter == writer, !isCongested { return }
            let number = waiters.expect()
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { waiters.add(number, $0) }
            } onCancel: {
                loop.submit { self.assumeIsolated { $0.waiters.cancel(number) } }
            }
        }
    }
}
