import RealtimeCore
import Synchronization

// What programs call and read.

extension Engine {
    // MARK: Getters

    var phase: ConnectionPhase { state.withLock { $0.machine.phase } }
    var connectionID: String? { state.withLock { $0.machine.connectionID } }
    var lastPingRoundTrip: Duration? { state.withLock { $0.machine.lastPingRoundTrip } }
    var lastDisconnect: SocketEnd? { state.withLock { $0.machine.lastDisconnect } }
    var ignoredMessageCount: Int { state.withLock { $0.machine.ignoredMessageCount } }

    var signedInMember: SignedInMember? {
        state.withLock { state in
            guard let identity = state.machine.identity else { return nil }
            if let known = state.signedIn, known.identity == identity { return known.member }
            let member = SignedInMember(identity)
            state.signedIn = (identity, member)
            return member
        }
    }

    func channel(named name: String) -> Channel? {
        state.withLock { state in state.machine.channelID(named: name).flatMap { state.channels[$0] } }
    }

    func isSubscribed(_ id: ChannelID) -> Bool { state.withLock { $0.machine.isSubscribed(id) } }

    func ownMemberID(on id: ChannelID) -> String? {
        state.withLock { $0.machine.isSubscribed(id) ? $0.machine.roster(of: id)?.ownID : nil }
    }

    // MARK: Calls

    func connect() {
        let now = now
        input { state, actions in state.machine.connect(at: now, into: &actions) }
    }

    func retryNow() {
        let now = now
        input { state, actions in state.machine.retryNow(at: now, into: &actions) }
    }

    func disconnect() {
        let now = now
        input { state, actions in
            // Events that came before are not delivered after this returns.
            state.lease.end()
            state.lease = DeliveryLease()
            state.machine.disconnect(at: now, into: &actions)
        }
    }

    /// Returns when no descriptor of this client is open any more.
    func closed() async {
        await withCheckedContinuation { continuation in
            input { state, _ in
                state.steps.append(Step(work: .whenClosed(continuation), lease: state.lease))
            }
        }
    }

    func subscribe(_ name: String) -> Channel {
        input { state, actions in
            let id = state.machine.subscribe(name, into: &actions)
            if let channel = state.channels[id] { return channel }
            let channel = Channel.make(name: name, id: id, engine: self)
            state.channels[id] = channel
            return channel
        }
    }

    func unsubscribe(_ name: String) {
        let dead = input { state, actions -> Channel? in
            let id = state.machine.unsubscribe(name, into: &actions)
            return id.flatMap { state.channels.removeValue(forKey: $0) }
        }
        dead?.die()
    }

    func trigger(
        _ event: String, on id: ChannelID, named name: String, data: [UInt8]?
    ) throws(ClientEventError) -> Bool {
        try input { state, actions throws(ClientEventError) in
            try state.machine.trigger(event, on: id, named: name, data: data, into: &actions)
        }
    }

    func signin() async throws -> SignedInMember {
        let waiter = state.withLock { state in
            state.lastWaiter += 1
            return WaiterID(rawValue: state.lastWaiter)
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                input { state, actions in
                    state.waiters[waiter] = continuation
                    state.machine.signin(waiter, into: &actions)
                }
                // A cancellation before the waiter was known found nobody to tell.
                if Task.isCancelled { cancelSignin(waiter) }
            }
        } onCancel: {
            cancelSignin(waiter)
        }
    }

    private func cancelSignin(_ waiter: WaiterID) {
        input { state, actions in state.machine.cancelSignin(waiter, into: &actions) }
    }

    /// Registers, and tells an observer that comes while the client is `failed` why it is.
    func observeErrors(_ handler: @escaping @Sendable (RealtimeError) -> Void) -> BindingToken {
        let (observer, serial) = errorObservers.add(handler)
        guard phase == .failed else { return observer.token }
        deliver(
            .call { [weak self] in
                // Neither when it is over, nor when the observer has heard, or is about to hear, of a further failure.
                guard let self, let terminal = self.state.withLock({ $0.machine.terminalError }) else {
                    return
                }
                let error = RealtimeError(terminal)
                guard self.errorObservers.last(after: serial) != error else { return }
                observer(error)
            })
        return observer.token
    }

    func remove(_ token: BindingToken) {
        stateObservers.remove(token)
        errorObservers.remove(token)
        signinErrorObservers.remove(token)
        connectingInObservers.remove(token)
    }
}

extension SignedInMember {
    init(_ identity: SignedInIdentity) {
        self.init(memberId: identity.memberID, memberInfo: identity.memberInfo.flatMap(JSONText.value))
    }
}

extension RealtimeError {
    init(_ report: ErrorReport) {
        self.init(code: report.code, message: report.message)
    }
}
