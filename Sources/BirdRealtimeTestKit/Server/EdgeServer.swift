internal import SystemIO
internal import SystemTLS
internal import WebSocketCore

/// The edge behind its face: both ports, their connections, and the machine that knows the dialect.
///
/// It lives on an event loop of its own. Sessions call back on that loop, with values only.
actor EdgeServer {
    struct Listening: Sendable {
        var port: UInt16
        var authPort: UInt16
        var certificateAuthorityPEM: String?
    }

    /// One thread for all edges of the process; it never stops, so that late calls find an executor.
    static let loop = EventLoop(name: "loopback-edge")

    nonisolated var unownedExecutor: UnownedSerialExecutor { Self.loop.asUnownedSerialExecutor() }

    private let configuration: LoopbackEdge.Configuration
    private let book: LogBook
    private let script: FaultScript
    private var machine: EdgeMachine
    private let backend: AuthBackend
    private var security: EdgeSecurity?
    private var webSocketPort: Acceptor?
    private var backendPort: Acceptor?
    private var sessions: [Int: WebSocketSession] = [:]
    private var backendSessions: [Int: BackendSession] = [:]
    private var accepted = 0
    private var backendAccepted = 0
    private var heldHandshakes: [Int] = []
    private var heldAuth: [(session: Int, request: LoopbackEdge.AuthRequest)] = []
    private var ignoringPings: Set<Int> = []

    init(_ configuration: LoopbackEdge.Configuration, book: LogBook, script: FaultScript) {
        self.configuration = configuration
        self.book = book
        self.script = script
        let signature = EdgeSignature(appKey: configuration.appKey, secret: configuration.appSecret)
        machine = EdgeMachine(
            EdgeMachine.Options(
                signature: signature, activityTimeout: configuration.activityTimeout,
                encodesDataAsString: configuration.encodesDataAsString,
                sendsConnectionCount: configuration.sendsConnectionCount))
        backend = AuthBackend(
            signature: signature,
            forgedSignature: EdgeSignature(
                appKey: configuration.appKey, secret: configuration.appSecret + " of somebody else"),
            member: configuration.member, sharedSecret: configuration.sharedSecret)
    }

    isolated deinit {
        tearDown()
    }

    // MARK: Life

    func start(port: UInt16, authPort: UInt16) throws -> Listening {
        guard webSocketPort == nil else { throw LoopbackEdge.StartError.alreadyRunning }
        let host = configuration.host
        guard host == "127.0.0.1" || host == "::1" else { throw LoopbackEdge.StartError.notLoopback(host) }
        if configuration.isSecure, security == nil { security = try EdgeSecurity(configuration.certificate) }
        func address(_ port: UInt16) -> SocketAddress {
            host == "::1" ? .loopback6(port: port) : .loopback(port: port)
        }
        do {
            let webSocketPort = try Acceptor(address(port), loop: Self.loop) { [weak self] in
                self?.assumeIsolated { $0.acceptWebSockets() }
            }
            self.webSocketPort = webSocketPort
            let backendPort = try Acceptor(address(authPort), loop: Self.loop) { [weak self] in
                self?.assumeIsolated { $0.acceptBackend() }
            }
            self.backendPort = backendPort
            try webSocketPort.start()
            try backendPort.start()
            return Listening(
                port: webSocketPort.port, authPort: backendPort.port,
                certificateAuthorityPEM: security?.authorityPEM)
        } catch {
            tearDown()
            throw LoopbackEdge.StartError.cannotListen(String(describing: error))
        }
    }

    func stop() {
        tearDown()
    }

    private func tearDown() {
        webSocketPort?.stop()
        backendPort?.stop()
        webSocketPort = nil
        backendPort = nil
        heldAuth = []
        heldHandshakes = []
        for session in backendSessions.values { session.stream.close() }
        for session in sessions.values { session.stream.close() }
        backendSessions = [:]
        sessions = [:]
    }

    // MARK: WebSockets

    private func acceptWebSockets() {
        while let socket = webSocketPort?.accept() {
            accepted += 1
            let number = accepted
            let plan = script.plan(forConnection: number)
            book.write(.accepted(connection: number))
            if plan.refusal?.isImmediateReset(isSecure: security != nil) == true {
                socket.abort()
                book.write(.ended(connection: number, .dropped))
                continue
            }
            do {
                let stream = try EdgeStream(
                    socket, tls: plan.refusal?.preventsTLS == true ? nil : security?.context, loop: Self.loop)
                var limits = Limits()
                limits.maxMessageBytes = configuration.maxMessageBytes
                let session = WebSocketSession(number, stream, plan, self, book: book, limits: limits)
                stream.owner = session
                sessions[number] = session
                try stream.start()
            } catch {
                sessions[number] = nil
                book.write(.ended(connection: number, .failed(String(describing: error))))
            }
        }
    }

    func sessionUpgraded(_ number: Int, target: String) {
        guard let session = sessions[number] else { return }
        perform(machine.opened(number, target: AppTarget(target)))
        guard machine.clients[number] != nil else { return session.stream.unglue() }
        let handshake = machine.handshake(number)
        switch session.plan.handshake {
        case .normal: session.send(handshake)
        case .missing: break
        case .held: heldHandshakes.append(number)
        case .repeated(let count): for _ in 0..<max(0, count) { session.send(handshake) }
        case .text(let text): session.send(text)
        }
        for fault in session.plan.afterHandshake { session.inject(fault) }
        session.stream.unglue()
    }

    func sessionReceived(_ bytes: [UInt8], isText: Bool, from number: Int) {
        var actions =
            isText ? machine.received(bytes, from: number) : machine.receivedBinary(from: number)
        if ignoringPings.contains(number) { actions.removeAll { $0 == .send(EdgeFrame.pong, to: number) } }
        perform(actions)
    }

    func ignorePings(_ number: Int) {
        ignoringPings.insert(number)
    }

    /// A close frame passed: nothing more is for this client, and the others hear that it left.
    func sessionClosing(_ number: Int) {
        perform(machine.closed(number))
    }

    func sessionEnded(_ number: Int) {
        sessions[number] = nil
        ignoringPings.remove(number)
        heldHandshakes.removeAll { $0 == number }
        perform(machine.closed(number))
    }

    private func perform(_ actions: [EdgeMachine.Action]) {
        for action in actions {
            switch action {
            case .send(let text, let number): sessions[number]?.send(text)
            case .close(let code, let reason, let number): sessions[number]?.close(code, reason)
            case .violation(let code, let message, let number):
                book.write(.violation(connection: number, code: code, message: message))
            }
        }
    }

    // MARK: From the face

    func publish(channel: String, event: String, data: String, except: String?) -> Int {
        let (actions, receivers) = machine.publish(
            channel: channel, event: event, data: data, except: except)
        perform(actions)
        return receivers
    }

    func publish(toMember member: String, event: String, data: String) -> Int {
        publish(channel: EdgeMachine.memberChannel(member), event: event, data: data, except: nil)
    }

    func connections() -> [LoopbackEdge.ConnectionInfo] {
        machine.clients.sorted { $0.key < $1.key }.map { number, client in
            LoopbackEdge.ConnectionInfo(
                number: number, connectionID: client.connectionID, channels: client.channels.sorted(),
                memberID: client.identity?.id)
        }
    }

    func inject(_ fault: LoopbackEdge.Fault, into target: LoopbackEdge.Target) -> Int {
        let numbers = sessions.keys.sorted().filter { number in
            guard sessions[number]?.isOpen == true else { return false }
            return switch target {
            case .all: true
            case .connection(let wanted): number == wanted
            case .connectionID(let id): machine.clients[number]?.connectionID == id
            }
        }
        for number in numbers { sessions[number]?.inject(fault) }
        return numbers.count
    }

    func releaseHandshakes() -> Int {
        let numbers = exchange(&heldHandshakes, with: [])
        for number in numbers { sessions[number]?.send(machine.handshake(number)) }
        return numbers.count
    }

    // MARK: The auth backend

    private func acceptBackend() {
        while let socket = backendPort?.accept() {
            backendAccepted += 1
            do {
                let stream = try EdgeStream(socket, tls: security?.context, loop: Self.loop)
                let session = BackendSession(backendAccepted, stream, self)
                stream.owner = session
                backendSessions[backendAccepted] = session
                try stream.start()
            } catch {
                backendSessions[backendAccepted] = nil
            }
        }
    }

    func backendEnded(_ number: Int) {
        backendSessions[number] = nil
        let gone = heldAuth.filter { $0.session == number }
        heldAuth.removeAll { $0.session == number }
        for held in gone { log(held.request, status: 0) }
    }

    func backendReceived(_ request: HTTPRequest, from number: Int) {
        switch AuthBackend.task(of: request) {
        case .refuse(let answer): backendSessions[number]?.answer(answer)
        case .publish(let publication):
            let receivers: Int
            switch publication.receiver {
            case .channel(let channel):
                receivers = publish(
                    channel: channel, event: publication.event, data: publication.data,
                    except: publication.exceptConnectionID)
            case .member(let member):
                receivers = publish(toMember: member, event: publication.event, data: publication.data)
            }
            backendSessions[number]?.answer(.json(#"{"receivers":\#(receivers)}"#))
        case .authorize(let request):
            book.write(.authRequested(request))
            authorize(request, number, script.authFault(forChannel: request.channel))
        }
    }

    private func authorize(
        _ request: LoopbackEdge.AuthRequest, _ number: Int, _ fault: LoopbackEdge.AuthFault?
    ) {
        guard let session = backendSessions[number] else { return log(request, status: 0) }
        switch fault {
        case nil: answer(request, number, backend.answer(to: request))
        case .status(let status, let type, let body):
            let headers = [(name: "content-type", value: type)]
            answer(request, number, HTTPAnswer(status: status, headers: headers, body: body))
        case .html:
            let headers = [(name: "content-type", value: "text/html")]
            let page = "<!doctype html><title>Log in</title><form>Log in</form>"
            answer(request, number, HTTPAnswer(status: 200, headers: headers, body: page))
        case .held: heldAuth.append((number, request))
        case .slow(let wait):
            Self.loop.schedule(at: .now.advanced(by: wait)) { [weak self] in
                self?.assumeIsolated { $0.authorize(request, number, nil) }
            }
        case .reset:
            log(request, status: 0)
            session.stream.reset()
        case .truncated:
            let whole = backend.answer(to: request)
            log(request, status: whole.status, "truncated")
            session.truncate(whole)
        case .wrongSignature: answer(request, number, backend.answer(to: request, forged: true))
        case .missingAuth: answer(request, number, .json(#"{"message":"nothing signed here"}"#))
        }
    }

    func releaseAuth() -> Int {
        let held = exchange(&heldAuth, with: [])
        for (number, request) in held { authorize(request, number, nil) }
        return held.count
    }

    /// Logged first: who waits for the log and then acts finds the answer on its way.
    private func answer(_ request: LoopbackEdge.AuthRequest, _ number: Int, _ answer: HTTPAnswer) {
        log(request, status: answer.status, answer.body)
        backendSessions[number]?.answer(answer)
    }

    private func log(_ request: LoopbackEdge.AuthRequest, status: Int, _ answer: String = "") {
        book.write(.auth(LoopbackEdge.AuthExchange(request: request, status: status, answer: answer)))
    }
}

extension LoopbackEdge.Refusal {
    /// On a plain edge a TLS failure is a reset.
    fileprivate func isImmediateReset(isSecure: Bool) -> Bool {
        switch self {
        case .reset: true
        case .tlsFailure: !isSecure
        case .silence, .status, .answer: false
        }
    }

    fileprivate var preventsTLS: Bool {
        switch self {
        case .tlsFailure, .silence: true
        case .reset, .status, .answer: false
        }
    }
}
