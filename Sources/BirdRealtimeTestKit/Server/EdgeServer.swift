internal import RealtimeCore
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
    let book: LogBook
    let script: FaultScript
    private var machine: EdgeMachine
    let backend: AuthBackend
    var security: EdgeSecurity?
    private var webSocketPort: Acceptor?
    var backendPort: Acceptor?
    private var sessions: [Int: WebSocketSession] = [:]
    var backendSessions: [Int: BackendSession] = [:]
    private var accepted = 0
    var backendAccepted = 0
    private var heldHandshakes: [Int] = []
    var heldAuth: [(session: Int, request: LoopbackEdge.AuthRequest)] = []
    /// What is not answered, by connection.
    private var ignored: [Int: Set<String>] = [:]

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
        case .late(let wait):
            Self.loop.schedule(at: .now.advanced(by: wait)) { [weak self] in
                self?.assumeIsolated { $0.sessions[number]?.send(handshake) }
            }
        case .repeated(let count): for _ in 0..<max(0, count) { session.send(handshake) }
        case .text(let text): session.send(text)
        }
        for fault in session.plan.afterHandshake { session.inject(fault) }
        session.stream.unglue()
    }

    func sessionReceived(_ bytes: [UInt8], isText: Bool, from number: Int) {
        guard isText else { return perform(machine.receivedBinary(from: number)) }
        if let ignored = ignored[number], let event = JSONValue(parsing: bytes)?["event"]?.string,
            ignored.contains(event)
        {
            return
        }
        perform(machine.received(bytes, from: number))
    }

    /// From here on the event is logged and nothing else.
    func ignore(_ event: String, from number: Int) {
        ignored[number, default: []].insert(event)
    }

    /// A close frame passed: nothing more is for this client, and the others hear that it left.
    func sessionClosing(_ number: Int) {
        perform(machine.closed(number))
    }

    func sessionEnded(_ number: Int) {
        sessions[number] = nil
        ignored[number] = nil
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
        let numbers = sessions.values.filter { session in
            switch target {
            case .all: session.isOpen
            case .connection(let number): session.isUpgraded && session.number == number
            case .connectionID(let id): session.isUpgraded && EdgeMachine.connectionID(session.number) == id
            }
        }.map(\.number).sorted()
        for number in numbers { sessions[number]?.inject(fault) }
        return numbers.count
    }

    func releaseHandshakes() -> Int {
        let numbers = exchange(&heldHandshakes, with: [])
        for number in numbers { sessions[number]?.send(machine.handshake(number)) }
        return numbers.count
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
