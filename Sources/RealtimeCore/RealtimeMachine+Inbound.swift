// What the server says.

extension RealtimeMachine {
    /// One message. Everything but an application event turns into actions. An application event for a kept channel is
    /// returned as ranges into `message`, before anything is copied or allocated, and adds no action.
    ///
    /// - Parameter isText: false for a binary message, whose UTF-8 is checked here.
    package mutating func receive(
        _ message: RawSpan, isText: Bool = true, on socket: SocketTag, at now: BootTime,
        into actions: inout [Action]
    ) -> InboundEvent? {
        guard socket == self.socket else { return nil }
        activity.heard(at: now)
        remarks.isLastWord = false
        guard isText || UTF8Check.isValid(message) else {
            ignore(.notUTF8, into: &actions)
            return nil
        }
        let envelope: Envelope
        do {
            envelope = try Envelope(scanning: message)
        } catch {
            ignore(error, into: &actions)
            return nil
        }
        let isProtocol = ProtocolEvent.hasReservedPrefix(envelope.event, in: message)
        if isProtocol, let event = ProtocolEvent(envelope.event, in: message) {
            handle(event, envelope, in: message, at: now, into: &actions)
            return nil
        }
        // Frames before the handshake are not delivered.
        guard case .connected = state, let channel = envelope.channel else { return nil }
        if isMemberChannel(channel, in: message) {
            guard !isProtocol else { return nil }
            return InboundEvent(recipient: .member, name: envelope.event, data: envelope.data)
        }
        guard let subscription = channels.named(channel, in: message), subscription.phase.acceptsEvents else {
            return nil
        }
        return InboundEvent(
            recipient: .channel(subscription.id), name: envelope.event, data: envelope.data)
    }

    private mutating func ignore(_ rejection: Envelope.Rejection, into actions: inout [Action]) {
        ignoredMessageCount &+= 1
        actions.append(.ignoredMessage(rejection.rawValue))
    }

    private mutating func handle(
        _ event: ProtocolEvent, _ envelope: Envelope, in message: RawSpan, at now: BootTime,
        into actions: inout [Action]
    ) {
        switch event {
        case .connectionEstablished:
            handshake(envelope.data.json(in: message), at: now, into: &actions)
        case .error:
            serverError(envelope, in: message, into: &actions)
        case .ping:
            if let socket { actions.append(.send(socket, FrameEncoder.pong)) }
        case .pong:
            guard case .connected = state, let time = activity.pong(at: now) else { return }
            lastPingRoundTrip = time
            actions.append(.pingRoundTrip(time))
        case .signinSuccess:
            signinSucceeded(envelope.data.json(in: message), into: &actions)
        case .watchlistEvents:
            watchlistChanged(envelope.data.json(in: message), into: &actions)
        case .subscriptionSucceeded, .subscriptionError, .connectionCount, .memberAdded, .memberRemoved:
            guard case .connected = state, let channel = envelope.channel,
                !isMemberChannel(channel, in: message),
                let subscription = channels.named(channel, in: message)
            else { return }
            handle(event, on: subscription, envelope.data.json(in: message), into: &actions)
        case .reserved:
            break
        }
    }

    private mutating func handle(
        _ event: ProtocolEvent, on subscription: Subscription, _ data: JSONValue?,
        into actions: inout [Action]
    ) {
        switch event {
        case .subscriptionSucceeded: subscriptionSucceeded(subscription, data, into: &actions)
        case .subscriptionError: subscriptionRefused(subscription, data, into: &actions)
        case .memberAdded: memberAdded(subscription, data, into: &actions)
        case .memberRemoved: memberRemoved(subscription, data, into: &actions)
        case .connectionCount:
            guard subscription.phase.acceptsEvents, let data, data.isObject else { return }
            actions.append(.connectionCount(subscription.id, data.text))
        case .connectionEstablished, .error, .ping, .pong, .signinSuccess, .watchlistEvents, .reserved:
            break
        }
    }

    /// `bird:error`, with or without a channel, before the handshake too.
    private mutating func serverError(
        _ envelope: Envelope, in message: RawSpan, into actions: inout [Action]
    ) {
        let data = envelope.data.json(in: message)
        let code = data?["code"]?.integer
        let fallback = code.map { "the server reported error \($0)" } ?? "the server reported an error"
        let report = ErrorReport(
            code: code, message: data?["message"]?.string ?? data?.string ?? fallback)
        if let channel = envelope.channel {
            if let subscription = channels.named(channel, in: message),
                channelError(subscription, report, into: &actions)
            {
                return
            }
            actions.append(.error(report))
            return
        }
        remarks = Remarks(lastError: report, isLastWord: true)
        actions.append(.error(report))
        doubtPendingChannels()
        signinMachine.serverError(report, into: &actions)
    }
}
