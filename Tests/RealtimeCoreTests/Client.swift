@testable import RealtimeCore

/// A machine with a clock that the test turns, so that each step of a scenario is one line.
struct Client {
    var machine: RealtimeMachine
    var now = BootTime.zero + .seconds(1000)
    var socket: SocketTag { machine.socket ?? SocketTag(rawValue: -1) }
    /// What `receive` returned last.
    var event: InboundEvent?
    /// Authorization requests in their order.
    var requests: [ChannelAuthorizationRequest] = []
    var memberRequests: [MemberAuthorizationRequest] = []
    var sent: [String] = []

    init(seed: UInt64 = 1, _ configure: (inout RealtimeConfiguration) -> Void = { _ in }) {
        var configuration = RealtimeConfiguration(host: "ws.test:443", seed: seed)
        configure(&configuration)
        machine = RealtimeMachine(configuration: configuration)
    }

    /// A client that is connected with connection id 1.1.
    static func connected(
        seed: UInt64 = 1, _ configure: (inout RealtimeConfiguration) -> Void = { _ in }
    ) -> Client {
        var client = Client(seed: seed, configure)
        client.connect()
        client.establish(1)
        return client
    }

    @discardableResult
    mutating func perform(_ body: (inout RealtimeMachine, inout [Action]) -> Void) -> [Action] {
        var actions: [Action] = []
        body(&machine, &actions)
        for action in actions {
            switch action {
            case .authorizeChannel(let request): requests.append(request)
            case .authorizeMember(let request): memberRequests.append(request)
            case .send(_, let bytes): sent.append(String(decoding: bytes, as: UTF8.self))
            default: break
            }
        }
        return actions
    }

    @discardableResult
    mutating func connect() -> [Action] {
        let now = now
        return perform { $0.connect(at: now, into: &$1) }
    }

    @discardableResult
    mutating func disconnect() -> [Action] {
        let now = now
        return perform { $0.disconnect(at: now, into: &$1) }
    }

    @discardableResult
    mutating func subscribe(_ name: String) -> [Action] {
        perform { _ = $0.subscribe(name, into: &$1) }
    }

    @discardableResult
    mutating func unsubscribe(_ name: String) -> [Action] {
        perform { _ = $0.unsubscribe(name, into: &$1) }
    }

    @discardableResult
    mutating func signin(_ waiter: Int) -> [Action] {
        perform { $0.signin(WaiterID(rawValue: waiter), into: &$1) }
    }

    @discardableResult
    mutating func receive(_ text: String, on tag: SocketTag? = nil) -> [Action] {
        receive(Array(text.utf8), on: tag)
    }

    @discardableResult
    mutating func receive(_ bytes: [UInt8], isText: Bool = true, on tag: SocketTag? = nil) -> [Action] {
        let socket = tag ?? socket
        let now = now
        var event: InboundEvent?
        let actions = perform { machine, actions in
            event = machine.receive(
                bytes.span.bytes, isText: isText, on: socket, at: now, into: &actions)
        }
        self.event = event
        return actions
    }

    @discardableResult
    mutating func establish(_ number: Int, activityTimeout: String? = "120") -> [Action] {
        machine.socketOpened(socket)
        let timeout = activityTimeout.map { #",\"activity_timeout\":\#($0)"# } ?? ""
        return receive(
            #"{"event":"bird:connection_established","data":"{\"connection_id\":\"\#(number).\#(number)\"\#(timeout)}"}"#
        )
    }

    @discardableResult
    mutating func ok(_ channel: String, _ data: String = "{}") -> [Action] {
        receive(#"{"event":"bird_internal:subscription_succeeded","channel":"\#(channel)","data":\#(data)}"#)
    }

    @discardableResult
    mutating func serverError(_ code: Int?, _ message: String = "no") -> [Action] {
        let number = code.map { String($0) } ?? "null"
        return receive(#"{"event":"bird:error","data":{"code":\#(number),"message":"\#(message)"}}"#)
    }

    @discardableResult
    mutating func end(_ kind: SocketEnd.Kind = .closeFrame, code: Int? = nil, _ reason: String = "")
        -> [Action]
    {
        let (socket, now) = (socket, now)
        return perform {
            $0.socketEnded(socket, SocketEnd(kind, code: code, reason: reason), at: now, into: &$1)
        }
    }

    @discardableResult
    mutating func fail(_ failure: AttemptFailure = AttemptFailure(.connect, "refused")) -> [Action] {
        let (socket, now) = (socket, now)
        return perform { $0.attemptFailed(socket, failure, at: now, into: &$1) }
    }

    @discardableResult
    mutating func authorize(
        _ tag: AuthorizationTag, _ auth: String = "key:sig", memberData: String? = nil
    ) -> [Action] {
        perform {
            $0.channelAuthorized(
                tag, .success(ChannelAuthorization(auth: auth, memberData: memberData)), into: &$1)
        }
    }

    @discardableResult
    mutating func refuse(_ tag: AuthorizationTag, status: Int) -> [Action] {
        perform {
            $0.channelAuthorized(
                tag, .failure(AuthorizationFailure(message: "no", endpoint: "/auth", status: status)),
                into: &$1)
        }
    }

    @discardableResult
    mutating func authorizeMember(_ tag: AuthorizationTag) -> [Action] {
        perform {
            $0.memberAuthorized(
                tag, .success(MemberAuthorization(auth: "key:sig", memberData: #"{"member_id":7}"#)),
                into: &$1)
        }
    }

    @discardableResult
    mutating func signinSuccess(_ memberData: String = #"{\"member_id\":7}"#) -> [Action] {
        receive(#"{"event":"bird:signin_success","data":{"member_data":"\#(memberData)"}}"#)
    }

    /// Turns the clock and calls the machine at each of its deadlines on the way.
    @discardableResult
    mutating func wait(_ duration: Duration) -> [Action] {
        let end = now + duration
        var all: [Action] = []
        while let deadline = machine.nextDeadline, deadline <= end {
            now = max(now, deadline)
            let moment = now
            all += perform { $0.advance(to: moment, into: &$1) }
        }
        now = end
        return all
    }

    var retryDelay: Duration? {
        machine.phase == .unavailable ? machine.nextDeadline.map { $0 - now } : nil
    }

    func id(_ name: String) -> ChannelID {
        machine.channelID(named: name) ?? ChannelID(rawValue: -1)
    }

    func isSubscribed(_ name: String) -> Bool { machine.isSubscribed(id(name)) }

    func members(_ name: String) -> Set<String>? {
        machine.roster(of: id(name)).map { Set($0.members.keys) }
    }
}

extension [Action] {
    var phases: [ConnectionPhase] {
        compactMap { if case .stateChanged(_, let to) = $0 { to } else { nil } }
    }

    var errors: [ErrorReport] {
        compactMap { if case .error(let report) = $0 { report } else { nil } }
    }

    var openedSockets: Int {
        count { if case .openSocket = $0 { true } else { false } }
    }

    var frames: [String] {
        compactMap {
            if case .send(_, let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { nil }
        }
    }

    var channelFailures: [SubscriptionFailure] {
        compactMap { if case .subscriptionFailed(_, let failure) = $0 { failure } else { nil } }
    }

    var successes: Int {
        count { if case .subscriptionSucceeded = $0 { true } else { false } }
    }

    var finishedWaiters: [Int] {
        compactMap { if case .signinFinished(let waiter, _) = $0 { waiter.rawValue } else { nil } }
    }
}
