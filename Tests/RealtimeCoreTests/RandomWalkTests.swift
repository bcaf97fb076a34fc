import Testing

@testable import RealtimeCore

/// Random schedules of everything that can happen, against the promises that hold at every step.
@Suite("Random schedules") struct RandomWalkTests {
    /// Plays the shell and the server, and checks what it is told.
    struct Referee {
        var openSocket: SocketTag?
        var connectionID: String?
        var phase = ConnectionPhase.initialized
        var authorizations: [AuthorizationTag: String] = [:]
        var memberAuthorizations: [AuthorizationTag: String] = [:]
        var waiting: Set<Int> = []
        var finished: Set<Int> = []
        var subscribesOfConnection: [String: Int] = [:]
        /// Channels whose second frame on a connection has a reason: an unsubscribe, an error or a refusal.
        var mayRepeat: Set<String> = []
        var faults: [String] = []

        static let allowed: [ConnectionPhase: Set<ConnectionPhase>] = [
            .initialized: [.connecting, .disconnected],
            .connecting: [.connected, .unavailable, .disconnected, .failed],
            .connected: [.unavailable, .disconnected, .failed],
            .unavailable: [.connecting, .disconnected],
            .disconnected: [.connecting],
            .failed: [.connecting, .disconnected],
        ]

        mutating func check(_ condition: Bool, _ fault: String) {
            if !condition { faults.append(fault) }
        }

        mutating func take(_ actions: [Action], _ machine: RealtimeMachine) {
            for action in actions {
                switch action {
                case .openSocket(let tag):
                    check(openSocket == nil, "a second socket was opened")
                    openSocket = tag
                    subscribesOfConnection = [:]
                    mayRepeat = []
                case .closeSocket(let tag, _, _, _):
                    check(openSocket == tag, "a socket was closed that is not open")
                    openSocket = nil
                case .send(let tag, let bytes):
                    check(openSocket == tag, "sent on a socket that is not open")
                    sent(bytes)
                case .stateChanged(let from, let to):
                    check(from == phase, "a transition was skipped: \(from) instead of \(phase)")
                    check(Referee.allowed[from]?.contains(to) == true, "\(from) to \(to)")
                    phase = to
                    connectionID = to == .connected ? machine.connectionID : nil
                case .authorizeChannel(let request):
                    check(request.connectionID == connectionID, "an authorization for another connection")
                    authorizations[request.tag] = request.channelName
                case .authorizeMember(let request):
                    check(request.connectionID == connectionID, "a signin for another connection")
                    memberAuthorizations[request.tag] = request.connectionID
                case .signinFinished(let waiter, _):
                    check(waiting.contains(waiter.rawValue), "a waiter that never waited")
                    check(finished.insert(waiter.rawValue).inserted, "a waiter finished twice")
                case .subscriptionSucceeded(let id, _):
                    check(phase == .connected, "subscribed without a connection")
                    check(machine.roster(of: id) != nil, "a dead channel succeeded")
                case .subscriptionFailed(let id, _):
                    if let name = Referee.names.first(where: { machine.channelID(named: $0) == id }) {
                        mayRepeat.insert(name)
                    }
                case .error(let report):
                    if report.code == 4300 { mayRepeat.formUnion(Referee.names) }
                case .cancelAuthorization, .connectingIn, .signinError, .identityChanged, .subscriptionLost,
                    .connectionCount, .memberAdded, .memberUpdated, .rosterReplaced, .memberRemoved,
                    .sharedSecret, .secretRenewalFailed, .watchlist, .pingRoundTrip, .ignoredMessage:
                    break
                }
            }
            if phase == .connected {
                for name in ["c", "d"] where machine.channelID(named: name) != nil {
                    check(subscribesOfConnection[name] != nil, "\(name) was not subscribed")
                }
            }
            check(machine.phase == phase, "the phase was not announced")
            check(machine.socket == openSocket, "the machine lost sight of its socket")
            let isTimed = [.connecting, .connected, .unavailable].contains(phase)
            check((machine.nextDeadline != nil) == isTimed, "a deadline in \(phase)")
        }

        static let names = ["c", "d", "private-a", "presence-p"]

        private mutating func sent(_ bytes: [UInt8]) {
            guard let frame = JSONValue(parsing: bytes), let name = frame["data"]?["channel"]?.string else {
                return
            }
            switch frame["event"]?.string {
            case "bird:unsubscribe":
                mayRepeat.insert(name)
            case "bird:subscribe":
                if let auth = frame["data"]?["auth"]?.string {
                    check(auth == "\(connectionID ?? "-")/\(name)", "\(name) carries the signature \(auth)")
                }
                let count = subscribesOfConnection[name, default: 0]
                check(count == 0 || mayRepeat.contains(name), "\(name) was subscribed twice")
                subscribesOfConnection[name] = count + 1
            default:
                break
            }
        }
    }

    static func step(_ client: inout Client, _ referee: inout Referee, _ random: inout SeededGenerator)
        -> [Action]
    {
        let name = Referee.names.randomElement(using: &random) ?? "c"
        let waiter = Int.random(in: 0..<1_000_000_000, using: &random)
        let pending = client.requests.suffix(4).randomElement(using: &random)
        switch Int.random(in: 0..<23, using: &random) {
        case 0: return Int.random(in: 0..<3, using: &random) == 0 ? client.disconnect() : []
        case 1, 2: return client.connect()
        case 3, 4, 5: return client.subscribe(name)
        case 6: return client.unsubscribe(name)
        case 7:
            referee.waiting.insert(waiter)
            return client.signin(waiter)
        case 8:
            let random = referee.waiting.subtracting(referee.finished).min() ?? 0
            return client.perform { $0.cancelSignin(WaiterID(rawValue: random), into: &$1) }
        case 9, 10, 11:
            return client.establish(client.socket.rawValue)
        case 12, 13:
            guard let request = pending else { return [] }
            return client.authorize(
                request.tag, "\(request.connectionID)/\(request.channelName)", memberData: #"{"member_id":1}"#
            )
        case 14:
            guard let request = pending else { return [] }
            return client.refuse(request.tag, status: 401)
        case 15:
            guard let request = client.memberRequests.suffix(3).randomElement(using: &random) else {
                return []
            }
            return client.authorizeMember(request.tag)
        case 16: return Bool.random(using: &random) ? client.signinSuccess() : client.serverError(4300)
        case 17, 18: return client.ok(name, #"{"presence":{"ids":["1"],"hash":{}}}"#)
        case 19:
            // The shell tells of an end once; the machine must not believe an end of another socket.
            referee.openSocket = nil
            let code = [nil, 1000, 1012, 4001, 4100, 4200, 4201].randomElement(using: &random) ?? nil
            return client.end(code: code)
        case 20:
            guard [.connecting, .connected].contains(client.machine.phase) else { return [] }
            referee.openSocket = nil
            return client.fail()
        case 21:
            // Nothing that an earlier socket says or does is heard.
            let old = SocketTag(rawValue: client.socket.rawValue - 1)
            let now = client.now
            let late = client.perform { $0.socketEnded(old, SocketEnd(.endOfStream), at: now, into: &$1) }
            return late + client.receive(#"{"event":"bird:error","data":{"code":4300}}"#, on: old)
        default:
            // One deadline at a time, so that the referee sees each step.
            client.now = client.now + .milliseconds(Int.random(in: 0..<40_000, using: &random))
            let now = client.now
            return client.perform { $0.advance(to: now, into: &$1) }
        }
    }

    @Test("thousands of schedules keep every promise", arguments: 0..<8)
    func walk(part: Int) {
        for number in UInt64(0)..<400 {
            let seed = UInt64(part) * 1000 + number
            var random = SeededGenerator(seed: seed)
            var client = Client(seed: seed)
            var referee = Referee()
            for index in 0..<120 {
                let actions = RandomWalkTests.step(&client, &referee, &random)
                referee.take(actions, client.machine)
                guard referee.faults.isEmpty else {
                    Issue.record("seed \(seed), step \(index): \(referee.faults) after \(actions)")
                    return
                }
            }
            referee.take(client.disconnect(), client.machine)
            let late = client.wait(.seconds(3600))
            #expect(late == [], "seed \(seed)")
            #expect(referee.waiting == referee.finished, "seed \(seed): a waiter was forgotten")
            #expect(referee.faults == [], "seed \(seed)")
        }
    }
}
