// Subscribing, authorizing and what the server says about a channel.

extension RealtimeMachine {
    // MARK: App calls

    /// Idempotent: the id of the one channel object of this name. Sends again only what failed or may have failed.
    package mutating func subscribe(_ name: String, into actions: inout [Action]) -> ChannelID {
        guard let kept = channels.named(name) else {
            let subscription = channels.add(name)
            start(subscription, into: &actions)
            return subscription.id
        }
        switch kept.phase {
        case .refused, .doubted: start(kept, into: &actions)
        case .idle, .authorizing, .pending, .subscribed: break
        }
        return kept.id
    }

    /// Wins over anything in flight. The id of the object that died; nil when the name was not kept.
    package mutating func unsubscribe(_ name: String, into actions: inout [Action]) -> ChannelID? {
        guard let kept = channels.named(name) else { return nil }
        if case .authorizing(let tag, _) = kept.phase { actions.append(.cancelAuthorization(tag)) }
        if let tag = kept.renewal { actions.append(.cancelAuthorization(tag)) }
        if kept.phase.hasSentFrame, let socket {
            actions.append(.send(socket, FrameEncoder.unsubscribe(channel: name)))
        }
        channels.remove(kept.id)
        return kept.id
    }

    /// Checks, then sends. False, and nothing is sent, while the channel object is not subscribed.
    package mutating func trigger(
        _ event: String, on id: ChannelID, named name: String, data: [UInt8]?, into actions: inout [Action]
    ) throws(ClientEventError) -> Bool {
        try ClientEventError.check(event: event, channelName: name, data: data)
        guard case .connected(let session) = state, isSubscribed(id), let data else { return false }
        actions.append(
            .send(session.socket, FrameEncoder.clientEvent(event, channel: name, data: data)))
        return true
    }

    // MARK: Authorizer

    /// An answer that is not awaited any more (its connection or its channel is gone) is dropped.
    package mutating func channelAuthorized(
        _ tag: AuthorizationTag, _ result: Result<ChannelAuthorization, AuthorizationFailure>,
        into actions: inout [Action]
    ) {
        guard let subscription = channels.awaiting(tag) else { return }
        if subscription.renewal == tag {
            secretRenewed(subscription, result, into: &actions)
            return
        }
        guard case .connected(let session) = state,
            case .authorizing(_, let afterDoubt) = subscription.phase
        else { return }
        switch result {
        case .failure(let failure):
            channels.setPhase(afterDoubt ? .doubted : .refused, of: subscription.id)
            let report = SubscriptionFailure(
                error: failure.message, endpoint: failure.endpoint, status: failure.status)
            actions.append(.subscriptionFailed(subscription.id, report))
        case .success(let answer):
            if subscription.family == .encrypted {
                if let error = SharedSecret.fault(answer.sharedSecret, channelName: subscription.name) {
                    channels.setPhase(afterDoubt ? .doubted : .refused, of: subscription.id)
                    actions.append(.subscriptionFailed(subscription.id, SubscriptionFailure(error: error)))
                    return
                }
                actions.append(.sharedSecret(subscription.id, answer.sharedSecret))
            }
            let ownID = answer.memberData.flatMap { JSONValue(parsing: Array($0.utf8)) }?["member_id"]?
                .identifier
            _ = channels.updateRoster(of: subscription.id) { $0.ownID = ownID }
            channels.setPhase(.pending, of: subscription.id)
            let frame = FrameEncoder.subscribe(
                channel: subscription.name, auth: answer.auth, memberData: answer.memberData)
            actions.append(.send(session.socket, frame))
        }
    }

    /// Begins the subscription on this connection, if there is one.
    mutating func start(_ subscription: Subscription, into actions: inout [Action]) {
        guard case .connected(let session) = state else { return }
        if subscription.family == .encrypted, !configuration.decryptsChannels {
            channels.setPhase(.refused, of: subscription.id)
            let failure = SubscriptionFailure(
                error: "cannot subscribe to \(subscription.name): encrypted channels need the "
                    + "encryption product (BirdRealtimeEncryption), which is not part of this program")
            actions.append(.subscriptionFailed(subscription.id, failure))
            return
        }
        guard subscription.family.needsAuthorization else {
            channels.setPhase(.pending, of: subscription.id)
            let frame = FrameEncoder.subscribe(channel: subscription.name, auth: nil, memberData: nil)
            actions.append(.send(session.socket, frame))
            return
        }
        let tag = nextAuthorization()
        let phase = Subscription.Phase.authorizing(tag, afterDoubt: subscription.phase.hasSentFrame)
        channels.setPhase(phase, of: subscription.id)
        actions.append(
            .authorizeChannel(
                ChannelAuthorizationRequest(
                    tag: tag, channel: subscription.id, channelName: subscription.name,
                    connectionID: session.connectionID)))
    }

    /// The connection is gone: nothing of it may be used on the next one.
    mutating func resetChannels(into actions: inout [Action]) {
        for subscription in channels.all {
            switch subscription.phase {
            case .idle: continue
            case .authorizing(let tag, _): actions.append(.cancelAuthorization(tag))
            case .subscribed: actions.append(.subscriptionLost(subscription.id))
            case .pending, .doubted, .refused: break
            }
            if let tag = subscription.renewal {
                actions.append(.cancelAuthorization(tag))
                channels.setRenewal(nil, of: subscription.id)
            }
            channels.setPhase(.idle, of: subscription.id)
            _ = channels.updateRoster(of: subscription.id) { $0 = PresenceRoster() }
        }
    }

    // MARK: Server

    mutating func subscriptionSucceeded(
        _ subscription: Subscription, _ data: JSONValue?, into actions: inout [Action]
    ) {
        switch subscription.phase {
        case .idle, .refused, .authorizing(_, afterDoubt: false):
            // The answer to a subscription that was cancelled.
            return
        case .subscribed:
            guard subscription.family == .presence, data?["presence"]?.isObject == true else { return }
            let roster = PresenceRoster(succeeded: data, ownID: channels.roster(of: subscription.id)?.ownID)
            _ = channels.updateRoster(of: subscription.id) { $0 = roster }
            actions.append(.rosterReplaced(subscription.id, roster))
            return
        case .authorizing(let tag, afterDoubt: true):
            actions.append(.cancelAuthorization(tag))
        case .pending, .doubted:
            break
        }
        channels.setPhase(.subscribed, of: subscription.id)
        guard subscription.family == .presence else {
            actions.append(.subscriptionSucceeded(subscription.id, nil))
            return
        }
        let roster = PresenceRoster(succeeded: data, ownID: channels.roster(of: subscription.id)?.ownID)
        _ = channels.updateRoster(of: subscription.id) { $0 = roster }
        actions.append(.subscriptionSucceeded(subscription.id, roster))
    }

    /// `bird_internal:subscription_error`.
    mutating func subscriptionRefused(
        _ subscription: Subscription, _ data: JSONValue?, into actions: inout [Action]
    ) {
        switch subscription.phase {
        case .idle, .refused, .authorizing: return
        case .subscribed: actions.append(.subscriptionLost(subscription.id))
        case .pending, .doubted: break
        }
        let message = data?["error"]?.string ?? data?["message"]?.string ?? data?.string
        refuse(
            subscription, message ?? "the server refused the subscription of \(subscription.name)",
            status: data?["status"]?.integer, into: &actions)
    }

    /// A `bird:error` that names a channel belongs to that channel while it is not subscribed; true when it was taken.
    mutating func channelError(
        _ subscription: Subscription, _ report: ErrorReport, into actions: inout [Action]
    ) -> Bool {
        switch subscription.phase {
        case .subscribed:
            return false
        case .pending, .doubted:
            refuse(subscription, report.message, status: nil, into: &actions)
        case .idle, .refused, .authorizing:
            // An authorization in flight goes on: the error speaks of an earlier subscription.
            actions.append(.subscriptionFailed(subscription.id, SubscriptionFailure(error: report.message)))
        }
        return true
    }

    /// An error without a channel may be the answer to any subscription that waits for one.
    mutating func doubtPendingChannels() {
        for subscription in channels.all where subscription.phase == .pending {
            channels.setPhase(.doubted, of: subscription.id)
        }
    }

    private mutating func refuse(
        _ subscription: Subscription, _ message: String, status: Int?, into actions: inout [Action]
    ) {
        channels.setPhase(.refused, of: subscription.id)
        _ = channels.updateRoster(of: subscription.id) { $0 = PresenceRoster() }
        actions.append(
            .subscriptionFailed(subscription.id, SubscriptionFailure(error: message, status: status)))
    }

    mutating func memberAdded(
        _ subscription: Subscription, _ data: JSONValue?, into actions: inout [Action]
    ) {
        guard subscription.family == .presence, subscription.phase == .subscribed,
            let member = PresenceMember(data)
        else { return }
        switch channels.updateRoster(of: subscription.id, { $0.add(member) }) {
        case .added: actions.append(.memberAdded(subscription.id, member))
        case .updated: actions.append(.memberUpdated(subscription.id, member))
        case .unchanged, nil: break
        }
    }

    mutating func memberRemoved(
        _ subscription: Subscription, _ data: JSONValue?, into actions: inout [Action]
    ) {
        guard subscription.family == .presence, subscription.phase == .subscribed,
            let named = PresenceMember(data),
            let gone = channels.updateRoster(of: subscription.id, { $0.remove(id: named.id) }) ?? nil
        else { return }
        actions.append(.memberRemoved(subscription.id, gone))
    }
}
