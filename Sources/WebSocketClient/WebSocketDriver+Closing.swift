import Synchronization
import SystemIO
import WebSocketCore

extension WebSocketDriver {
    /// Begins the closing handshake, or gives up dialing.
    func close(_ frame: CloseFrame) {
        switch phase {
        case .idle: end(.cancelled)
        case .dialing(let dial): dial.cancel(.cancelled)
        case .open:
            guard wire.connection.closing.isOpen else { return }
            do throws(SendError) {
                try wire.sendClose(frame)
            } catch {
                try? wire.sendClose(CloseFrame(code: .normalClosure))
            }
            closingBegan()
            flushUnlessInBurst()
            // The peer's answer may wait behind messages nobody reads any more.
            setReadingPaused(false)
        case .lingering, .ended: break
        }
    }

    /// Ends at once; the peer sees a reset.
    func abort() {
        switch phase {
        case .idle: end(.cancelled)
        case .dialing(let dial): dial.cancel(.cancelled)
        case .open, .lingering:
            transport?.resetOnClose()
            end(WebSocketError(.cancelled, "the connection was aborted on this side"))
        case .ended: break
        }
    }

    /// RFC 6455 §7.1.1, under one deadline whatever else happens.
    private func closingBegan() {
        isOpen.store(false, ordering: .releasing)
        waiters.failAll(.closed)
        guard closeTimer == nil else { return }
        closeTimer = schedule(after: settings.closeTimeout) { driver in
            driver.closeTimer = nil
            driver.transport?.resetOnClose()
            if driver.wire.connection.closing.received != nil {
                driver.end(nil)
            } else {
                let limit = driver.settings.closeTimeout
                driver.end(
                    WebSocketError(
                        .timeout, "the peer did not answer the close frame within closeTimeout, \(limit)",
                        phase: .closing))
            }
        }
    }

    /// The peer's close frame came; ours is sent or waits to be.
    func closeReceived() {
        closingBegan()
        pings.failAll(.closed)
        // At once, also in a burst: what that reads next may be the end, behind which nothing is written.
        flush()
        shutWriteIfDone()
    }

    /// RFC 6455 §7.1.1: the server closes TCP first, so that the client keeps no TIME-WAIT back from it.
    func shutWriteIfDone() {
        guard wire.outbox.isEmpty, !isWriteShut, transport != nil else { return }
        let isDone =
            switch (phase, wire.connection.closing) {
            case (.open, .complete): role == .server
            case (.lingering, _): true
            default: false
            }
        guard isDone else { return }
        isWriteShut = true
        transport?.shutdownWrite()
    }

    /// The peer broke the protocol. It is told why, and the end is told here at once.
    func fail(_ violation: ProtocolViolation) {
        closingBegan()
        // Before the application hears of it: what it does then must find an ended connection.
        phase = .lingering
        flush()
        shutWriteIfDone()
        report(WebSocketError(violation), wasOpen: true)
    }

    /// The peer sends no more.
    func transportEnded(isClean: Bool) {
        if wire.connection.closing.received != nil {
            end(nil)
            return
        }
        isTruncated = !isClean
        let how =
            isClean ? "without a close frame" : "without a close frame and without TLS's own (truncated)"
        let where_ = wire.connection.isInsideMessage ? ", in the middle of a message" : ""
        end(WebSocketError(.transport, "the peer closed the connection \(how)\(where_)", phase: .open))
    }

    /// Lets go of everything and tells the end, unless that was told before.
    func end(_ error: WebSocketError?) {
        let wasOpen: Bool
        switch phase {
        case .ended: return
        case .open: wasOpen = true
        case .idle, .dialing, .lingering: wasOpen = false
        }
        // A closing handshake that was complete but for our answer's arrival is a closing handshake.
        let isClosed =
            wire.connection.closing.received != nil && (hasWriteFailed || error?.kind == .transport)
        // Before the application hears of it: what it does then must find an ended connection.
        phase = .ended
        isOpen.store(false, ordering: .releasing)
        for timer in [closeTimer, keepaliveTimer] {
            if let timer { loop.cancel(timer) }
        }
        closeTimer = nil
        keepaliveTimer = nil
        if let watch = watch.take() { loop.unwatch(watch) }
        if !isWriteShut { transport?.shutdownWrite() }
        transport = nil
        wire.outbox.removeAll()
        leftover = []
        report(isClosed ? nil : error, wasOpen: wasOpen)
    }

    /// Tells the end, once.
    private func report(_ error: WebSocketError?, wasOpen: Bool) {
        let failure = error ?? .closed
        waiters.failAll(failure)
        pings.failAll(failure)
        guard let handler = handler.take() else { return }
        handler.ended(WebSocketEnd(closeInfo: closeInfo, error: error, wasOpen: wasOpen))
    }

    var closeInfo: CloseInfo {
        var info = CloseInfo()
        switch wire.connection.closing {
        case .notBegun: break
        case .sent(let frame), .failed(let frame):
            info.sent = frame
            info.initiator = .local
        case .complete(let sent, let received, let first):
            info.sent = sent
            info.received = received
            info.initiator = first == .us ? .local : .remote
        }
        info.isTruncated = isTruncated
        return info
    }
}
