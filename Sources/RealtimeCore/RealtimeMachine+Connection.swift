// Opening, losing and reopening the socket.

extension RealtimeMachine {
    // MARK: App calls

    /// Nothing while connecting or connected; ends a wait; opens a socket from any other state.
    package mutating func connect(at now: BootTime, into actions: inout [Action]) {
        if let report = configuration.unusable {
            actions.append(.error(report))
            leaveConnection(.connectionLost(report), into: &actions)
            change(to: .failed(report), into: &actions)
            return
        }
        switch state {
        case .connecting, .connected:
            break
        case .initialized, .unavailable:
            open(isImmediateRetry: false, at: now, into: &actions)
        case .disconnected, .failed:
            schedule.reset()
            open(isImmediateRetry: false, at: now, into: &actions)
        }
    }

    /// Ends a wait for the next attempt; does nothing in any other state.
    package mutating func retryNow(at now: BootTime, into actions: inout [Action]) {
        guard case .unavailable = state else { return }
        open(isImmediateRetry: false, at: now, into: &actions)
    }

    /// From any state; nothing happens afterwards until `connect(at:into:)`.
    package mutating func disconnect(at now: BootTime, into actions: inout [Action]) {
        switch state {
        case .disconnected:
            return
        case .connecting(let attempt):
            actions.append(
                .closeSocket(attempt.socket, code: 1000, reason: "", waitForPeer: attempt.isUpgraded))
        case .connected(let session):
            actions.append(.closeSocket(session.socket, code: 1000, reason: "", waitForPeer: true))
        case .initialized, .unavailable, .failed:
            break
        }
        schedule.reset()
        let report = ErrorReport(message: "disconnect() was called")
        leaveConnection(.connectionLost(report), into: &actions)
        change(to: .disconnected, into: &actions)
    }

    // MARK: Socket events

    /// The WebSocket upgrade is done; the handshake event is still to come.
    package mutating func socketOpened(_ socket: SocketTag) {
        guard case .connecting(var attempt) = state, attempt.socket == socket else { return }
        attempt.isUpgraded = true
        state = .connecting(attempt)
    }

    /// The attempt ended before its upgrade was done.
    package mutating func attemptFailed(
        _ socket: SocketTag, _ failure: AttemptFailure, at now: BootTime, into actions: inout [Action]
    ) {
        guard case .connecting(let attempt) = state, attempt.socket == socket else {
            return socketEnded(
                socket, SocketEnd(.transport, reason: failure.message), at: now, into: &actions)
        }
        let report = attemptReport(failure)
        actions.append(.error(report))
        schedule.attemptFailed(wasImmediate: attempt.isImmediateRetry)
        // Only these two statuses give Retry-After its meaning: RFC 6585 §4, RFC 9110 §15.6.4.
        let mayAskToWait = failure.httpStatus == 429 || failure.httpStatus == 503
        follow(
            configuration.reconnect.decision(closeCode: nil), report,
            retryAfter: mayAskToWait ? failure.retryAfter : nil, at: now, into: &actions)
    }

    /// An upgraded socket came to its end.
    package mutating func socketEnded(
        _ socket: SocketTag, _ end: SocketEnd, at now: BootTime, into actions: inout [Action]
    ) {
        guard socket == self.socket else { return }
        var code = end.code
        // Without a close code, an error that was the server's last word decides in its place.
        if code == nil, remarks.isLastWord, let said = remarks.lastError?.code, (4000...4299).contains(said) {
            code = said
        }
        let decision = configuration.reconnect.decision(closeCode: code)
        let wasSaid = code != nil && code == remarks.lastError?.code
        let report: ErrorReport
        if wasSaid, let said = remarks.lastError {
            report = said
        } else if case .connecting = state, decision != .fail {
            report = attemptReport(AttemptFailure(.handshake, end.description))
        } else {
            report = ErrorReport(code: code, message: end.reason.isEmpty ? end.description : end.reason)
        }
        switch state {
        case .connecting(let attempt):
            if !wasSaid { actions.append(.error(report)) }
            schedule.attemptFailed(wasImmediate: attempt.isImmediateRetry)
        case .connected(let session):
            if decision == .fail, !wasSaid { actions.append(.error(report)) }
            lastDisconnect = end
            schedule.connectionDied(atAge: now - session.since)
        case .initialized, .unavailable, .disconnected, .failed:
            return
        }
        follow(decision, report, retryAfter: nil, at: now, into: &actions)
    }

    // MARK: Time

    /// Does what is due.
    package mutating func advance(to now: BootTime, into actions: inout [Action]) {
        switch state {
        case .connecting(let attempt):
            if now >= attempt.deadline { connectTimedOut(attempt, at: now, into: &actions) }
        case .connected(let session):
            switch activity.check(at: now) {
            case .alive: break
            case .ping: actions.append(.send(session.socket, FrameEncoder.ping))
            case .dead: dropStale(session, at: now, into: &actions)
            }
        case .unavailable(let retryAt):
            if now >= retryAt { open(isImmediateRetry: false, at: now, into: &actions) }
        case .initialized, .disconnected, .failed:
            break
        }
    }

    private mutating func connectTimedOut(
        _ attempt: Attempt, at now: BootTime, into actions: inout [Action]
    ) {
        actions.append(
            .closeSocket(attempt.socket, code: 1000, reason: "connect timeout", waitForPeer: false))
        let seconds = configuration.connectTimeout.inSeconds
        let report = attemptReport(
            AttemptFailure(
                attempt.isUpgraded ? .handshake : .connect, "connectTimeout of \(seconds) s expired"))
        actions.append(.error(report))
        schedule.attemptFailed(wasImmediate: attempt.isImmediateRetry)
        follow(.backOff, report, retryAfter: nil, at: now, into: &actions)
    }

    /// The peer is not asked: a close frame is attempted and the retry is immediate.
    private mutating func dropStale(_ session: Session, at now: BootTime, into actions: inout [Action]) {
        let end = SocketEnd(.stale, code: 4200, reason: "activity timeout")
        actions.append(
            .closeSocket(session.socket, code: 4200, reason: end.reason, waitForPeer: false))
        lastDisconnect = end
        schedule.connectionDied(atAge: now - session.since)
        let report = ErrorReport(code: 4200, message: end.reason)
        follow(.retryImmediately, report, retryAfter: nil, at: now, into: &actions)
    }

    // MARK: Transitions

    /// The socket is gone: goes where the decision leads.
    private mutating func follow(
        _ decision: ReconnectPolicy.Decision, _ report: ErrorReport, retryAfter: Duration?,
        at now: BootTime, into actions: inout [Action]
    ) {
        leaveConnection(.connectionLost(report), into: &actions)
        switch decision {
        case .fail:
            change(to: .failed(report), into: &actions)
        case .retryImmediately where schedule.takeImmediateRetry(at: now):
            change(to: .unavailable(retryAt: now), into: &actions)
            actions.append(.connectingIn(.zero))
            open(isImmediateRetry: true, at: now, into: &actions)
        case .retryImmediately, .backOff:
            let wait = schedule.nextWait(configuration.reconnect, retryAfter: retryAfter)
            change(to: .unavailable(retryAt: now + wait), into: &actions)
            actions.append(.connectingIn(wait))
        }
    }

    private mutating func open(isImmediateRetry: Bool, at now: BootTime, into actions: inout [Action]) {
        let socket = nextSocket()
        remarks = Remarks()
        change(
            to: .connecting(
                Attempt(
                    socket: socket, deadline: now + configuration.connectTimeout,
                    isImmediateRetry: isImmediateRetry)), into: &actions)
        actions.append(.openSocket(socket))
    }

    /// What belonged to the connection goes before the app hears of the new state.
    private mutating func leaveConnection(_ failure: SigninFailure, into actions: inout [Action]) {
        resetChannels(into: &actions)
        signinMachine.connectionLost(failure, into: &actions)
    }

    private mutating func change(to new: State, into actions: inout [Action]) {
        let old = phase
        state = new
        if phase != old { actions.append(.stateChanged(from: old, to: phase)) }
    }

    private func attemptReport(_ failure: AttemptFailure) -> ErrorReport {
        let status = failure.httpStatus.map { " (HTTP status \($0))" } ?? ""
        return ErrorReport(
            message:
                "cannot connect to \(configuration.host): \(failure.phase.rawValue): \(failure.message)\(status)"
        )
    }

    // MARK: Handshake

    /// `bird:connection_established`: the first one on a socket makes it `connected`.
    mutating func handshake(_ data: JSONValue?, at now: BootTime, into actions: inout [Action]) {
        // A second handshake event on one socket means nothing.
        guard case .connecting(let attempt) = state else { return }
        guard let id = data?["connection_id"]?.string, !id.isEmpty else {
            let report = ErrorReport(
                message:
                    "the handshake of \(configuration.host) has no connection_id: it must be a non-empty string"
            )
            actions.append(.error(report))
            actions.append(
                .closeSocket(attempt.socket, code: 4001, reason: "no connection_id", waitForPeer: true))
            leaveConnection(.connectionLost(report), into: &actions)
            change(to: .failed(report), into: &actions)
            return
        }
        activity = ActivityCheck(
            activityTimeout: ActivityCheck.timeout(
                handshake: data?["activity_timeout"], option: configuration.activityTimeout),
            pongTimeout: configuration.pongTimeout, at: now)
        schedule.handshakeSucceeded()
        let session = Session(socket: attempt.socket, connectionID: id, since: now)
        change(to: .connected(session), into: &actions)
        for subscription in channels.all { start(subscription, into: &actions) }
        if signinMachine.connected() == .authorize { authorizeSignin(session, into: &actions) }
    }
}

extension SocketEnd {
    /// The end in words.
    var description: String {
        switch (kind, code) {
        case (_, .some(let code)):
            "the server closed with code \(code)" + (reason.isEmpty ? "" : " (\(reason))")
        case (.closeFrame, nil): "the server closed without a code"
        case (.endOfStream, nil): "the connection ended without a close frame"
        case (.truncated, nil): "the connection was cut off"
        case (.transport, nil), (.violation, nil), (.stale, nil):
            reason.isEmpty ? "the connection broke" : reason
        }
    }
}
