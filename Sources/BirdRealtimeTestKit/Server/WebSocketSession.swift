internal import SystemIO
internal import WebSocketCore

/// One connection to the WebSocket port, from its first byte to its end. Lives on the edge's loop.
final class WebSocketSession: EdgeStreamOwner {
    private enum Phase {
        case opening
        /// The refusal is on its way; what comes is not looked at.
        case refused
        case open
        /// A close frame was sent; it waits for the client's.
        case closing
        /// Both close frames passed, or RFC 6455 was broken: the socket closes when all is written.
        case finishing
        case ended
    }

    let number: Int
    let stream: EdgeStream
    let plan: LoopbackEdge.ConnectionPlan
    /// nil while the server tears down in its deinit.
    private weak var server: EdgeServer?
    private let book: LogBook
    private var phase = Phase.opening
    private var handshake: ServerHandshake
    private var connection: Connection
    private var outbox = Outbox()
    private var maskKeys = MaskKeys(count: 1) { _ in }  // a server masks nothing (RFC 6455 §5.1)
    private var ignoresPings = false
    private var ignoresClose = false
    private var sentClose: UInt16?
    private var end: LoopbackEdge.End?

    init(
        _ number: Int, _ stream: EdgeStream, _ plan: LoopbackEdge.ConnectionPlan, _ server: EdgeServer,
        book: LogBook, limits: Limits
    ) {
        self.number = number
        self.stream = stream
        self.plan = plan
        self.server = server
        self.book = book
        handshake = ServerHandshake(limits: limits)
        connection = Connection(role: .server, limits: limits)
    }

    /// True from the 101 to the first close frame.
    var isOpen: Bool { phase == .open }

    /// True from the 101 to the end of the closing handshake.
    var isUpgraded: Bool { phase == .open || phase == .closing }

    // MARK: The stream

    func streamOpened() {
        if case .silence = plan.refusal { stream.hold(true) }
    }

    func streamReceived(_ bytes: UnsafeRawBufferPointer) {
        switch phase {
        case .opening: open(bytes)
        case .open, .closing: receive(bytes)
        case .refused, .finishing, .ended: break
        }
    }

    func streamEnded(_ streamEnd: EdgeStream.End) {
        guard phase != .ended else { return }
        let wasClosing = phase == .closing
        phase = .ended
        let fallback: LoopbackEdge.End =
            switch streamEnd {
            case .endOfStream where wasClosing: .closed(sent: sentClose, received: nil)
            case .endOfStream: .endOfStream
            case .failed(let reason): .failed(reason)
            case .local: .dropped
            }
        book.write(.ended(connection: number, end ?? fallback))
        server?.assumeIsolated { [number] in $0.sessionEnded(number) }
    }

    // MARK: Opening

    private func open(_ bytes: UnsafeRawBufferPointer) {
        if case .tlsFailure = plan.refusal {
            return refuse(Array("this is not TLS\r\n".utf8), "no TLS, by plan")
        }
        var offset = 0
        let request: ServerHandshake.Request?
        do throws(ServerRefusal) {
            request = try handshake.receive(bytes, at: &offset)
        } catch {
            return refuse(error.bytes, "\(error.status) \(error.reason)")
        }
        guard let request else { return }
        switch plan.refusal {
        case .status(let status, let headers, let body):
            let answer = HTTPAnswer(status: status, headers: headers, body: body)
            refuse(answer.bytes(closes: true), "\(status), by plan")
        case .answer(let bytes): refuse(bytes, "an answer by plan")
        case .reset, .tlsFailure, .silence, nil:
            accept(request)
            // What the client sent behind its request are frames.
            if offset < bytes.count { streamReceived(UnsafeRawBufferPointer(rebasing: bytes[offset...])) }
        }
    }

    private func refuse(_ answer: [UInt8], _ reason: String) {
        phase = .refused
        book.write(.refused(connection: number, reason: reason))
        stream.send(answer)
        stream.whenDrained { [stream] in stream.close() }
    }

    private func accept(_ request: ServerHandshake.Request) {
        guard AppTarget(request.target).appKey != nil else {
            return refuse(HTTPAnswer.text(404, "no such path").bytes(closes: true), "404: \(request.target)")
        }
        let answer: [UInt8]
        do throws(HandshakeMisuse) {
            answer = try ServerHandshake.accept(request).bytes
        } catch {
            return refuse(HTTPAnswer.text(500, error.message).bytes(closes: true), error.message)
        }
        phase = .open
        book.write(
            .upgraded(
                connection: number,
                request: LoopbackEdge.UpgradeRequest(
                    target: request.target, headers: request.fields.map { ($0.name, $0.value) })))
        stream.setShape(plan.writes)
        stream.send(answer)
        server?.assumeIsolated { [number] in $0.sessionUpgraded(number, target: request.target) }
    }

    // MARK: Frames in

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        do throws(ProtocolViolation) {
            while phase == .open || phase == .closing {
                let event = try connection.nextEvent(
                    in: bytes, at: &offset, outbox: &outbox, maskKeys: &maskKeys)
                guard let event else { break }
                handle(event, bytes)
            }
            flush()
        } catch {
            phase = .finishing
            end = .violation(error.closeCode.rawValue, error.message)
            flush()
            stream.whenDrained { [stream] in stream.close() }
        }
    }

    private func handle(_ event: Event, _ input: UnsafeRawBufferPointer) {
        switch event {
        case .message(let kind, let payload): message(kind, copy(payload, input))
        case .fragment: break  // whole messages were asked for
        case .ping(let payload):
            let payload = copy(payload, input)
            log(.received, .ping(payload))
            if ignoresPings {
                outbox.removeAll()
            } else if !outbox.isEmpty {
                log(.sent, .pong(payload))
                flush()
            }
        case .pong(let payload): log(.received, .pong(copy(payload, input)))
        case .close(let frame): closed(frame.code?.rawValue, frame.reason)
        }
    }

    private func message(_ kind: MessageKind, _ bytes: [UInt8]) {
        book.write(
            .message(
                LoopbackEdge.Message(
                    connection: number, direction: .received, text: String(decoding: bytes, as: UTF8.self))))
        server?.assumeIsolated { [number] in $0.sessionReceived(bytes, isText: kind == .text, from: number) }
    }

    private func closed(_ code: UInt16?, _ reason: String) {
        log(.received, .close(code: code, reason: reason))
        if ignoresClose { return outbox.removeAll() }
        // The connection answered, except a close frame that went past it; that one was the first and the only one.
        if phase == .open { log(.sent, .close(code: code, reason: "")) } else { outbox.removeAll() }
        let answered = phase == .closing ? sentClose : code
        phase = .finishing
        end = .closed(sent: answered, received: code)
        flush()
        server?.assumeIsolated { [number] in $0.sessionClosing(number) }
        stream.whenDrained { [stream] in stream.close() }
    }

    private func copy(_ payload: Payload, _ input: UnsafeRawBufferPointer) -> [UInt8] {
        connection.withBytes(of: payload, in: input) { Array($0) }
    }

    // MARK: Frames out

    func send(_ text: String) {
        guard phase == .open else { return }
        let bytes = Array(text.utf8)
        do throws(SendError) {
            try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SendError) in
                try connection.send(.text, bytes, outbox: &outbox, maskKeys: &maskKeys)
            }
        } catch {
            return  // after a close frame nothing is sent
        }
        book.write(.message(LoopbackEdge.Message(connection: number, direction: .sent, text: text)))
        flush()
    }

    func inject(_ fault: LoopbackEdge.Fault) {
        book.write(.injected(connection: number, fault))
        switch fault {
        case .close(let code, let reason): close(code, reason)
        case .reset: stream.reset()
        case .finish: stream.finish()
        case .blackHole: stream.hold(true)
        case .resume: stream.hold(false)
        case .ignorePings:
            ignoresPings = true
            server?.assumeIsolated { [number] in $0.ignore("bird:ping", from: number) }
        case .ignoreClose: ignoresClose = true
        case .ignoreSubscriptions:
            server?.assumeIsolated { [number] in $0.ignore("bird:subscribe", from: number) }
        case .bytes(let bytes): stream.send(bytes)
        case .text(let text): send(text)
        case .error(let code, let message): send(EdgeFrame.error(code: code, message: message))
        case .ping: send(EdgeFrame.ping)
        case .pingFrame(let payload): ping(payload)
        }
    }

    /// Any code, also one that may not stand in a close frame (RFC 6455 §7.4): clients have to meet those too.
    func close(_ code: UInt16?, _ reason: String) {
        guard phase == .open else { return }
        phase = .closing
        sentClose = code
        log(.sent, .close(code: code, reason: reason))
        do throws(SendError) {
            let frame = CloseFrame(code: code.map(CloseCode.init(rawValue:)), reason: reason)
            try connection.sendClose(frame, outbox: &outbox, maskKeys: &maskKeys)
            flush()
        } catch {
            var payload = code.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } ?? []
            payload.append(contentsOf: reason.utf8.prefix(123))
            stream.send([0x88, UInt8(payload.count)] + payload)
        }
        server?.assumeIsolated { [number] in $0.sessionClosing(number) }
    }

    private func ping(_ payload: [UInt8]) {
        guard phase == .open else { return }
        do throws(SendError) {
            try payload.span.bytes.withUnsafeBytes { (bytes) throws(SendError) in
                try connection.sendPing(bytes, outbox: &outbox, maskKeys: &maskKeys)
            }
        } catch {
            return
        }
        log(.sent, .ping(payload))
        flush()
    }

    private func flush() {
        guard !outbox.isEmpty else { return }
        let bytes = outbox.withUnsafeBytes { Array($0) }
        outbox.removeAll()
        stream.send(bytes)
    }

    private func log(_ direction: LoopbackEdge.Direction, _ kind: LoopbackEdge.ControlFrame.Kind) {
        book.write(
            .control(LoopbackEdge.ControlFrame(connection: number, direction: direction, kind: kind)))
    }
}
