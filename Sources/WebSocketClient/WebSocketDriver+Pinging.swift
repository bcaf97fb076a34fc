import SystemIO
import WebSocketCore

extension WebSocketDriver {
    func ping(_ completion: @escaping @Sendable (Result<Duration, WebSocketError>) -> Void) {
        guard case .open = phase, wire.connection.closing.isOpen else {
            completion(.failure(.closed))
            return
        }
        let payload = pings.begin(at: .now, completion)
        do throws(SendError) {
            try wire.sendPing(payload)
        } catch {
            pings.failAll(WebSocketError(error))
        }
        flushUnlessInBurst()
    }

    /// Pings a silent peer, and gives up one that stays silent (`WebSocketOptions.Keepalive`).
    func armKeepalive() {
        guard let keepalive = settings.keepalive else { return }
        hasHeard = false
        keepaliveTimer = schedule(after: keepalive.interval) { driver in
            // Data that flows is proof of life; only silence is asked about.
            guard !driver.hasHeard, !driver.isReadingPaused else { return driver.armKeepalive() }
            driver.ping { _ in }
            driver.awaitLife(within: keepalive.timeout)
        }
    }

    private func awaitLife(within timeout: Duration) {
        guard case .open = phase else { return }
        keepaliveTimer = schedule(after: timeout) { driver in
            guard !driver.hasHeard, !driver.isReadingPaused else { return driver.armKeepalive() }
            driver.transport?.resetOnClose()
            driver.end(
                WebSocketError(
                    .timeout,
                    "the peer is silent: nothing came within keepalive.timeout, \(timeout), after a ping",
                    phase: .open))
        }
    }
}

/// Pings that wait for their pongs.
struct PingBook {
    typealias Completion = @Sendable (Result<Duration, WebSocketError>) -> Void

    private var waiting: [(number: UInt64, sent: BootInstant, completion: Completion)] = []
    private var last: UInt64 = 0

    /// The payload of a new ping: its number.
    mutating func begin(at now: BootInstant, _ completion: @escaping Completion) -> [UInt8] {
        last &+= 1
        waiting.append((last, now, completion))
        return withUnsafeBytes(of: last.bigEndian) { Array($0) }
    }

    /// A pong answers its ping and those before, which it overtook (RFC 6455 §5.5.3). Others mean nothing.
    mutating func answer(_ payload: [UInt8], at now: BootInstant) {
        guard payload.count == 8 else { return }
        let number = payload.reduce(0) { $0 << 8 | UInt64($1) }
        guard waiting.contains(where: { $0.number == number }) else { return }
        let answered = waiting.prefix { $0.number <= number }
        waiting.removeFirst(answered.count)
        for ping in answered { ping.completion(.success(ping.sent.duration(to: now))) }
    }

    mutating func failAll(_ error: WebSocketError) {
        let unanswered = waiting
        waiting = []
        for ping in unanswered { ping.completion(.failure(error)) }
    }
}

/// Tasks that wait for room to send, in their order.
struct SendWaiters {
    var count: Int { waiting.count }

    private var waiting: [(number: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
    /// Waits that have a number and have not begun; a cancellation may come before they do.
    private var expected: Set<UInt64> = []
    private var cancelled: Set<UInt64> = []
    private var last: UInt64 = 0

    mutating func newNumber() -> UInt64 {
        last &+= 1
        return last
    }

    /// The number of a wait that is about to begin.
    mutating func expect() -> UInt64 {
        let number = newNumber()
        expected.insert(number)
        return number
    }

    mutating func add(_ number: UInt64, _ continuation: CheckedContinuation<Void, any Error>) {
        expected.remove(number)
        if cancelled.remove(number) != nil {
            continuation.resume(throwing: CancellationError())
        } else {
            waiting.append((number, continuation))
        }
    }

    /// A cancellation may come before the wait has begun, and after it has ended.
    mutating func cancel(_ number: UInt64) {
        if let index = waiting.firstIndex(where: { $0.number == number }) {
            waiting.remove(at: index).continuation.resume(throwing: CancellationError())
        } else if expected.contains(number) {
            cancelled.insert(number)
        }
    }

    mutating func wakeAll() {
        let woken = waiting
        waiting = []
        for waiter in woken { waiter.continuation.resume() }
    }

    mutating func failAll(_ error: WebSocketError) {
        let failed = waiting
        waiting = []
        for waiter in failed { waiter.continuation.resume(throwing: error) }
    }
}
