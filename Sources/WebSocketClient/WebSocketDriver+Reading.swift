import SystemIO
import WebSocketCore

extension WebSocketDriver {
    /// How often the buffer may be filled in one go before other connections have their turn.
    private static var maxRounds: Int { 4 }

    /// Reads and delivers what is there, then writes what that led to.
    func readBurst() {
        guard !isInBurst else { return }
        isInBurst = true
        var rounds = 0
        reading: while isReading {
            guard rounds < Self.maxRounds else {
                continueLater()
                break
            }
            rounds += 1
            let buffer = loop.readBuffer
            do throws(WebSocketError) {
                guard let outcome = try transport?.read(into: buffer) else { break }
                switch outcome {
                case .bytes(let count):
                    hasHeard = true
                    process(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                    // Less than was asked for: there is no more. A full buffer may have more behind it, inside TLS too.
                    if count < buffer.count, transport?.hasEnded != true { break reading }
                case .wouldBlock(let interest):
                    readWaits = interest
                    break reading
                case .end(let isClean):
                    transportEnded(isClean: isClean)
                }
            } catch {
                end(error)
            }
        }
        isInBurst = false
        if case .open = phase { handler?.paused(WebSocketHandle(driver: self)) }
        wire.connection.releaseIdleMemory()
        flush()
        updateInterest()
    }

    private var isReading: Bool {
        if isReadingPaused || isStalled { return false }
        return switch phase {
        case .open, .lingering: true
        case .idle, .dialing, .ended: false
        }
    }

    private func continueLater() {
        guard !isBurstScheduled else { return }
        isBurstScheduled = true
        loop.submit { [weak self] in
            self?.assumeIsolated { driver in
                driver.isBurstScheduled = false
                driver.processLeftover()
                driver.readBurst()
            }
        }
    }

    /// Delivers the events in bytes that live for this call.
    func process(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        // Once for all messages in these bytes: the two are told about each of them.
        guard let handler else { return }
        let link = WebSocketHandle(driver: self)
        while true {
            if isReadingPaused {
                leftover.append(contentsOf: bytes[offset...])
                return
            }
            guard case .open = phase else { return }
            do throws(ProtocolViolation) {
                guard let event = try wire.nextEvent(in: bytes, at: &offset) else { return }
                deliver(event, bytes, to: handler, link)
            } catch {
                fail(error)
                return
            }
        }
    }

    @inline(__always)
    private func deliver(
        _ event: Event, _ input: UnsafeRawBufferPointer, to handler: any WebSocketHandler,
        _ link: WebSocketHandle
    ) {
        switch event {
        case .message(let kind, .input(let range)):
            handler.received(kind, UnsafeRawBufferPointer(rebasing: input[range]).bytes, link)
        case .message(let kind, _):
            withAssembled { bytes in handler.received(kind, bytes, link) }
        case .fragment(let kind, .input(let range), let isFirst, let isFinal):
            handler.receivedFragment(
                kind, UnsafeRawBufferPointer(rebasing: input[range]).bytes, isFirst: isFirst,
                isFinal: isFinal, link)
        case .fragment(let kind, _, let isFirst, let isFinal):
            withAssembled { bytes in
                handler.receivedFragment(kind, bytes, isFirst: isFirst, isFinal: isFinal, link)
            }
        case .ping:
            break
        case .pong(let payload):
            let echoed = wire.connection.withBytes(of: payload, in: input) { Array($0) }
            pings.answer(echoed, at: .now)
        case .close:
            closeReceived()
        }
    }

    /// Takes the message out of the connection first: a handler that sends changes the connection meanwhile.
    private func withAssembled(_ body: (RawSpan) -> Void) {
        let message = wire.connection.takeAssembled()
        message.withUnsafeBytes { body($0.bytes) }
        wire.connection.recycle(message)
    }

    func setReadingPaused(_ isPaused: Bool) {
        guard isReadingPaused != isPaused else { return }
        isReadingPaused = isPaused
        if isPaused {
            if !isInBurst { updateInterest() }
        } else {
            // Never within this call: it may come out of a burst, of this connection or of another one whose bytes
            // are in the loop's buffer.
            continueLater()
        }
    }

    func processLeftover() {
        guard !leftover.isEmpty, !isReadingPaused else { return }
        let bytes = leftover
        leftover = []
        isInBurst = true
        bytes.withUnsafeBytes { process($0) }
        isInBurst = false
    }
}
