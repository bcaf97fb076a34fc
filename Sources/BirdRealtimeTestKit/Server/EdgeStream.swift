internal import SystemIO
internal import SystemTLS

/// Who hears of a stream. Called on the edge's loop.
protocol EdgeStreamOwner: AnyObject {
    /// TCP, and TLS where there is one, is established.
    func streamOpened()
    func streamReceived(_ bytes: UnsafeRawBufferPointer)
    /// Once; nothing follows.
    func streamEnded(_ end: EdgeStream.End)
}

/// A socket of the edge, with or without TLS, whose writes can be cut, slowed and withheld. Lives on the edge's loop.
final class EdgeStream: ReadinessHandler {
    enum End: Equatable {
        /// The peer's stream ended.
        case endOfStream
        case failed(String)
        /// Closed or reset from this side.
        case local
    }

    private enum Phase { case securing, open, ended }

    /// A client that does not read is dropped beyond this much.
    private static let maxPendingBytes = 64 << 20

    weak var owner: (any EdgeStreamOwner)?
    private(set) var shape = LoopbackEdge.WriteShape.whole
    private let loop: EventLoop
    private var socket: TCPSocket?
    private var tls: TLSStream?
    private let descriptor: Int32
    private var watch: WatchID?
    private var phase: Phase
    private var pending: [UInt8] = []
    private var sent = 0
    private var timer: TimerID?
    private var blockedOn: Interest = []
    private var watched: Interest = .read
    private var isHeld = false
    private var isGlued = false
    private var onDrained: (() -> Void)?

    init(_ socket: consuming TCPSocket, tls context: TLSContext?, loop: EventLoop) throws {
        descriptor = socket.rawValue
        self.loop = loop
        if let context {
            tls = try TLSStream(server: context, socket: socket)
            phase = .securing
        } else {
            self.socket = consume socket
            phase = .open
        }
    }

    /// Begins to watch the socket.
    func start() throws {
        watch = try loop.watch(descriptor, .read, self)
        if phase == .open { owner?.streamOpened() }
    }

    // MARK: Sending

    func setShape(_ shape: LoopbackEdge.WriteShape) {
        self.shape = shape
        isGlued = shape == .glued
    }

    func send(_ bytes: some Collection<UInt8>) {
        guard phase != .ended else { return }
        guard pending.count - sent + bytes.count <= Self.maxPendingBytes else {
            return end(.failed("the client does not read what it is sent"), isReset: true)
        }
        pending.append(contentsOf: bytes)
        if !isGlued { pump() }
    }

    /// Ends `.glued`: what has gathered leaves in one write.
    func unglue() {
        guard isGlued else { return }
        isGlued = false
        pump()
    }

    /// Runs when everything is written; at once when it is.
    func whenDrained(_ body: @escaping () -> Void) {
        guard phase != .ended else { return }
        onDrained = body
        isGlued = false
        pump()
    }

    /// Black hole: neither reads nor writes until let go.
    func hold(_ isHeld: Bool) {
        guard phase != .ended else { return }
        self.isHeld = isHeld
        updateInterest()
        if !isHeld { pump() }
    }

    // MARK: Ending

    /// A bare FIN, also under TLS; reading goes on.
    func finish() {
        socket?.shutdownWrite()
        tls?.shutdownWrite()
    }

    /// Closes, under TLS with close_notify.
    func close() {
        guard phase != .ended else { return }
        tls?.shutdown()
        end(.local)
    }

    func reset() {
        end(.local, isReset: true)
    }

    private func end(_ end: End, isReset: Bool = false) {
        guard phase != .ended else { return }
        phase = .ended
        if let watch { loop.unwatch(watch) }
        if let timer { loop.cancel(timer) }
        if isReset {
            socket?.resetOnClose()
            tls?.resetOnClose()
        }
        socket = nil
        tls = nil
        onDrained = nil
        owner?.streamEnded(end)
    }

    // MARK: Readiness

    func ready(_ readiness: Readiness) {
        do {
            if phase == .securing { try secure() }
            if phase == .open, !isHeld, readiness.contains(.readable) || blockedOn.contains(.write) {
                try read()
            }
            if phase == .open { pump() }
            if phase == .open, isHeld, !readiness.isDisjoint(with: [.hangup, .error]) {
                end(.failed("the client reset the connection"))
            }
        } catch {
            end(.failed(String(describing: error)))
        }
    }

    private func secure() throws {
        switch try tls?.handshake() {
        case .done:
            phase = .open
            blockedOn = []
            updateInterest()
            owner?.streamOpened()
        case .wants(let interest):
            blockedOn = interest
            updateInterest()
        case nil: break
        }
    }

    private func read() throws {
        let buffer = loop.readBuffer
        while phase == .open, !isHeld {
            let outcome = try socket?.read(into: buffer) ?? tls?.read(into: buffer)
            switch outcome {
            case .bytes(let count):
                let bytes = UnsafeRawBufferPointer(buffer)[..<count]
                owner?.streamReceived(UnsafeRawBufferPointer(rebasing: bytes))
            case .wouldBlock: return
            case .end: return end(.endOfStream)
            case nil: return
            }
        }
    }

    private func pump() {
        guard phase == .open, !isHeld, !isGlued, timer == nil else { return }
        blockedOn = []
        do {
            while sent < pending.count, timer == nil, blockedOn.isEmpty { try writeOnce() }
        } catch {
            return end(.failed(String(describing: error)))
        }
        if sent == pending.count {
            pending.removeAll(keepingCapacity: pending.count <= 64 * 1024)
            sent = 0
            let body = onDrained.take()
            updateInterest()
            body?()
        } else {
            updateInterest()
        }
    }

    private func writeOnce() throws {
        var piece = pending.count - sent
        var pause: Duration?
        switch shape {
        case .whole, .glued: break
        case .pieces(let size): piece = min(piece, max(1, size))
        case .drip(let size, let every):
            piece = min(piece, max(1, size))
            pause = every
        }
        let outcome = try pending.withUnsafeBytes { bytes in
            let slice = UnsafeRawBufferPointer(rebasing: bytes[sent..<sent + piece])
            return try socket?.write(slice) ?? tls?.write(slice)
        }
        switch outcome {
        case .bytes(let count):
            sent += count
            guard let pause else { return }
            timer = loop.schedule(at: .now.advanced(by: pause)) { [weak self] in
                self?.timer = nil
                self?.pump()
            }
        case .wouldBlock(let interest): blockedOn = interest
        case nil: blockedOn = .write
        }
    }

    private func updateInterest() {
        guard let watch, phase != .ended else { return }
        let wanted: Interest =
            if phase == .securing { blockedOn.isEmpty ? .read : blockedOn } else if isHeld { [] } else {
                blockedOn.union(.read)
            }
        guard wanted != watched else { return }
        watched = wanted
        loop.change(watch, wanted)
    }
}
