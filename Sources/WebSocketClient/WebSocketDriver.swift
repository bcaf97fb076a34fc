import Synchronization
import SystemIO
import WebSocketCore

/// Drives one connection on the event loop's thread: from dialing to the end that is told once.
///
/// It is an actor whose executor is the loop, so the compiler sees to it that its state is touched there only. Dialing is
/// in `WebSocketDriver+Dialing`, reading, writing and ending in files of those names.
actor WebSocketDriver {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let role: Role
    let settings: ConnectionSettings
    /// Told of everything; let go at the end.
    var handler: (any WebSocketHandler)?
    var phase = Phase.idle

    // From the end of dialing on.
    var wire: Wire
    var transport: Transport?
    var watch: WatchID?
    var watched: Interest = []

    /// What reading and writing wait for: the socket's readiness, the other way round now and then under TLS.
    var readWaits: Interest = .read
    var writeWaits: Interest = .write
    var isReadingPaused = false
    var isInBurst = false
    var isBurstScheduled = false
    /// Bytes that were read before reading was paused.
    var leftover: [UInt8] = []
    var hasWriteFailed = false
    /// Neither reads nor writes any more, but stays: for tests of what the peer makes of it.
    var isStalled = false

    var closeTimer: TimerID?
    var isWriteShut = false
    var isTruncated = false

    var keepaliveTimer: TimerID?
    var hasHeard = false
    var pings = PingBook()
    var waiters = SendWaiters()
    var activeWriter: UInt64?
    var isCongested = false
    /// The outbox's part of `backlog`.
    var publishedCount = 0

    /// Bytes that wait to be written or to be posted to the loop, for senders on other threads.
    nonisolated let backlog = Atomic<Int>(0)
    nonisolated let isOpen = Atomic<Bool>(false)
    /// A sender on another thread was told to wait, and the loop will look whether it still has to.
    nonisolated let isWritablePromised = Atomic<Bool>(false)

    enum Phase {
        case idle
        case dialing(Dial)
        case open
        /// The end has been told; the transport lives on until the peer has read the close frame.
        case lingering
        case ended
    }

    init(
        role: Role, settings: ConnectionSettings, handler: (any WebSocketHandler)?, loop: EventLoop
    ) {
        self.role = role
        self.settings = settings
        self.handler = handler
        self.loop = loop
        wire = Wire(role: role, settings: settings, deflate: nil)
    }

    /// Runs on the loop: at once when called there, else in its turn.
    nonisolated func perform(_ body: @escaping @Sendable (isolated WebSocketDriver) -> Void) {
        if loop.isOnLoop {
            assumeIsolated(body)
        } else {
            loop.submit { self.assumeIsolated(body) }
        }
    }

    /// Begins to watch the transport, whose opening handshake is complete.
    func open(
        deflate: DeflateParameters?, _ agreement: WebSocketAgreement,
        glued: UnsafeRawBufferPointer
    ) {
        wire = Wire(role: role, settings: settings, deflate: deflate)
        guard let descriptor = transport?.rawValue else { return }
        phase = .open
        isOpen.store(true, ordering: .releasing)
        do throws(SystemError) {
            watched = .read
            watch = try loop.watch(descriptor, .read, self)
        } catch {
            end(WebSocketError(error, phase: .open))
            return
        }
        armKeepalive()
        isInBurst = true
        handler?.opened(agreement, WebSocketHandle(driver: self))
        if case .open = phase { process(glued) }
        isInBurst = false
        // What TLS holds inside does not make the socket readable.
        readBurst()
    }

    func updateInterest() {
        guard let watch else { return }
        var wanted: Interest = isReadingPaused || isStalled ? [] : readWaits
        if !wire.outbox.isEmpty, !isStalled, !hasWriteFailed { wanted.formUnion(writeWaits) }
        guard wanted != watched else { return }
        watched = wanted
        loop.change(watch, wanted)
    }

    func schedule(after delay: Duration, _ body: @escaping @Sendable (isolated WebSocketDriver) -> Void)
        -> TimerID
    {
        loop.schedule(at: BootInstant.now.advanced(by: delay)) { [weak self] in
            self?.assumeIsolated { driver in body(driver) }
        }
    }
}

extension WebSocketDriver: ReadinessHandler {
    nonisolated func ready(_ readiness: Readiness) {
        assumeIsolated { driver in
            if driver.isStalled { return }
            if !driver.wire.outbox.isEmpty { driver.flush() }
            driver.readBurst()
        }
    }
}
