import RealtimeCore
import Synchronization

// What the machine asks for, carried out in order by one thread at a time and under no lock.

extension Engine {
    func perform(_ step: Step) {
        switch step.work {
        case .action(let action): perform(action, step.lease)
        case .event(let target, let name, let data): deliver(name, data, to: target, step.lease)
        case .arm(let deadline): arm(deadline)
        case .whenClosed(let continuation):
            let isClosed = resources.withLock { resources in
                let isClosed = resources.socket == nil && resources.closing.isEmpty
                if !isClosed { resources.closeWaiters.append(continuation) }
                return isClosed
            }
            if isClosed { continuation.resume() }
        }
    }

    private func perform(_ action: Action, _ lease: DeliveryLease) {
        switch action {
        case .openSocket(let tag): open(tag)
        case .closeSocket(let tag, let code, let reason, let waitForPeer):
            close(tag, code, reason, waitForPeer: waitForPeer)
        case .send(let tag, let text):
            let socket = resources.withLock { $0.socket }
            if let socket, socket.tag == tag { socket.socket.send(text) }
        case .authorizeChannel(let request): authorize(request)
        case .authorizeMember(let request): authorize(request)
        case .cancelAuthorization(let tag):
            resources.withLock { $0.authorizations.removeValue(forKey: tag) }?.cancel()
        case .stateChanged, .connectingIn, .error, .signinError, .signinFinished, .identityChanged,
            .pingRoundTrip, .ignoredMessage:
            announce(action)
        case .subscriptionSucceeded, .subscriptionFailed, .subscriptionLost, .connectionCount, .memberAdded,
            .memberUpdated, .rosterReplaced, .memberRemoved, .sharedSecret, .secretRenewalFailed, .watchlist:
            announceOnChannel(action, lease)
        }
    }

    // MARK: Sockets

    private func open(_ tag: SocketTag) {
        note(.debug, "opening a socket")
        let socket = connector.open(SocketLink(tag: tag, engine: self))
        resources.withLock { $0.socket = (tag, socket) }
    }

    private func close(_ tag: SocketTag, _ code: Int, _ reason: String, waitForPeer: Bool) {
        let socket = resources.withLock { resources -> (any RealtimeSocket)? in
            guard let socket = resources.socket, socket.tag == tag else { return nil }
            resources.socket = nil
            resources.closing.insert(tag)
            return socket.socket
        }
        note(.debug, "closing the socket with code \(code)")
        socket?.close(code: code, reason: reason, waitForPeer: waitForPeer)
    }

    /// The descriptor of a socket is closed, whoever closed it.
    func socketGone(_ tag: SocketTag) {
        let waiters = resources.withLock { resources -> [CheckedContinuation<Void, Never>] in
            resources.closing.remove(tag)
            if resources.socket?.tag == tag { resources.socket = nil }
            guard resources.socket == nil, resources.closing.isEmpty else { return [] }
            defer { resources.closeWaiters = [] }
            return resources.closeWaiters
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Time

    private func arm(_ deadline: BootTime?) {
        resources.withLock { $0.timer.take() }?.cancel()
        guard let deadline else { return }
        let timer = clock.schedule(at: deadline.sinceBoot) { [weak self] in self?.timerFired(for: deadline) }
        resources.withLock { $0.timer = timer }
    }

    // MARK: Authorizers

    private func authorize(_ request: ChannelAuthorizationRequest) {
        run(request.tag) { [authorizers, weak self] in
            let result = await authorizers.authorize(request)
            self?.channelAuthorized(request.tag, result)
        }
    }

    private func authorize(_ request: MemberAuthorizationRequest) {
        run(request.tag) { [authorizers, weak self] in
            let result = await authorizers.authorize(request)
            self?.memberAuthorized(request.tag, result)
        }
    }

    private func run(_ tag: AuthorizationTag, _ body: @escaping @Sendable () async -> Void) {
        // Begun under the lock: the task cannot take itself out before it was put in.
        resources.withLock { $0.authorizations[tag] = Task { await body() } }
    }

    // MARK: Log

    func note(_ level: RealtimeLogEntry.Level, _ message: @autoclosure () -> String) {
        log?(RealtimeLogEntry(level: level, message: message()))
    }
}
