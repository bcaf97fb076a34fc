import Synchronization
import SystemIO
import WebSocketCore

extension WebSocketDriver {
    // MARK: From any thread

    nonisolated func send(_ kind: MessageKind, _ bytes: [UInt8]) -> WebSocketHandle.SendResult {
        if loop.isOnLoop {
            return assumeIsolated { driver in bytes.withUnsafeBytes { driver.sendNow(kind, $0) } }
        }
        guard isOpen.load(ordering: .acquiring) else { return .closed }
        guard backlog.load(ordering: .relaxed) <= settings.writeHighWater else {
            promiseWritable()
            return .congested
        }
        if kind == .text {
            var validator = UTF8Validator()
            guard validator.accept(bytes.span.bytes), validator.isComplete else { return .invalid }
        }
        backlog.add(bytes.count, ordering: .relaxed)
        loop.submit {
            self.assumeIsolated { driver in
                driver.backlog.subtract(bytes.count, ordering: .relaxed)
                _ = bytes.withUnsafeBytes { driver.sendNow(kind, $0, ignoresHighWater: true) }
            }
        }
        return .queued
    }

    /// What was posted may be written at once and never be too much for the outbox: `writable` must come all the same.
    private nonisolated func promiseWritable() {
        guard !isWritablePromised.exchange(true, ordering: .acquiringAndReleasing) else { return }
        loop.submit {
            self.assumeIsolated { driver in
                driver.isWritablePromised.store(false, ordering: .releasing)
                guard case .open = driver.phase else { return }
                driver.isCongested = true
                driver.backlogChanged(driver.wire.outbox.count)
            }
        }
    }

    nonisolated func send(_ kind: MessageKind, _ bytes: RawSpan) -> WebSocketHandle.SendResult {
        // The closure cannot hold a span; the pointer does not outlive the call.
        bytes.withUnsafeBytes { bytes in
            if loop.isOnLoop {
                nonisolated(unsafe) let lent = bytes  // sound: used on this thread, before this call returns
                return assumeIsolated { driver in driver.sendNow(kind, lent) }
            }
            return send(kind, Array(bytes))
        }
    }

    // MARK: On the loop's thread

    func sendNow(
        _ kind: MessageKind, _ bytes: UnsafeRawBufferPointer, ignoresHighWater: Bool = false
    ) -> WebSocketHandle.SendResult {
        guard case .open = phase, wire.connection.closing.isOpen else { return .closed }
        // A message sent in pieces by a task goes on: what comes between has to wait for it.
        guard ignoresHighWater || wire.outbox.count <= settings.writeHighWater else { return .congested }
        guard activeWriter == nil else { return .congested }
        do throws(SendError) {
            try wire.send(kind, bytes)
        } catch {
            return error == .closed ? .closed : .invalid
        }
        flushUnlessInBurst()
        return .queued
    }

    func flushUnlessInBurst() {
        // A burst writes at its end, many answers with one call. Much is written at once, to bound the memory.
        if !isInBurst || wire.outbox.count > 256 << 10 {
            flush()
            if !isInBurst { updateInterest() }
        } else if wire.outbox.count > settings.writeHighWater {
            isCongested = true
        }
    }

    /// Writes until nothing waits or the kernel takes no more.
    func flush() {
        guard !hasWriteFailed, !isStalled, transport != nil else { return }
        var failure: WebSocketError?
        writing: while !wire.outbox.isEmpty {
            do throws(WebSocketError) {
                let outcome = try wire.outbox.withUnsafeBytes { (bytes) throws(WebSocketError) in
                    try transport?.write(bytes)
                }
                switch outcome {
                case .bytes(let count):
                    wire.outbox.consume(count)
                case .wouldBlock(let interest):
                    writeWaits = interest
                    wire.outbox.commit(transport?.committedByteCount ?? 0)
                    break writing
                case nil:
                    break writing
                }
            } catch {
                failure = error
                break
            }
        }
        if let failure {
            writeFailed(failure)
            return
        }
        let count = wire.outbox.count
        backlogChanged(count)
        if count == 0 {
            wire.outbox.releaseIdleMemory(keeping: 4096)
            shutWriteIfDone()
        }
    }

    private func backlogChanged(_ count: Int) {
        if count > settings.writeHighWater { isCongested = true }
        publishBacklog()
        guard count <= settings.writeLowWater else { return }
        if isCongested {
            isCongested = false
            if case .open = phase { handler?.writable(WebSocketHandle(driver: self)) }
        }
        waiters.wakeAll()
    }

    private func publishBacklog() {
        // Posted bytes are added and taken off by their senders; this adds what the outbox grew or shrank by.
        let change = wire.outbox.count - publishedCount
        publishedCount = wire.outbox.count
        if change != 0 { backlog.add(change, ordering: .relaxed) }
    }

    /// The peer takes nothing more. What it said before is still to be read: its close frame may be there.
    ///
    /// Not within this call, which may come out of another connection's handler: the loop's buffer holds that one's bytes.
    private func writeFailed(_ error: WebSocketError) {
        hasWriteFailed = true
        wire.outbox.removeAll()
        loop.submit {
            self.assumeIsolated { driver in
                driver.processLeftover()
                driver.readBurst()
                driver.end(error)
            }
        }
    }
}
