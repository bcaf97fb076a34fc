// Signing a member in, and what only a signed-in member hears.

extension RealtimeMachine {
    /// One caller of `signin()`. Callers that come while one is pending share its authorization, frame and result.
    package mutating func signin(_ waiter: WaiterID, into actions: inout [Action]) {
        switch state {
        case .failed, .disconnected:
            actions.append(.signinFinished(waiter, .failure(.notConnectable(phase))))
        case .initialized, .connecting, .unavailable:
            _ = signinMachine.join(waiter, isConnected: false, into: &actions)
        case .connected(let session):
            if signinMachine.join(waiter, isConnected: true, into: &actions) == .authorize {
                authorizeSignin(session, into: &actions)
            }
        }
    }

    /// The caller's task was cancelled. The signin itself goes on.
    package mutating func cancelSignin(_ waiter: WaiterID, into actions: inout [Action]) {
        signinMachine.cancel(waiter, into: &actions)
    }

    /// An answer that is not awaited any more is dropped.
    package mutating func memberAuthorized(
        _ tag: AuthorizationTag, _ result: Result<MemberAuthorization, AuthorizationFailure>,
        into actions: inout [Action]
    ) {
        guard signinMachine.isAwaiting(tag), case .connected(let session) = state else { return }
        switch result {
        case .failure(let failure):
            signinMachine.authorizationFailed(failure, into: &actions)
        case .success(let authorization):
            signinMachine.frameSent()
            actions.append(.send(session.socket, FrameEncoder.signin(authorization)))
        }
    }

    mutating func authorizeSignin(_ session: Session, into actions: inout [Action]) {
        let tag = nextAuthorization()
        signinMachine.authorizing(tag)
        actions.append(
            .authorizeMember(MemberAuthorizationRequest(tag: tag, connectionID: session.connectionID)))
    }

    /// `bird:signin_success`: `member_data` is the JSON string that was signed.
    mutating func signinSucceeded(_ data: JSONValue?, into actions: inout [Action]) {
        guard case .connected(let session) = state else { return }
        let signed = data?["member_data"]
        let member = signed?.string.flatMap { JSONValue(parsing: Array($0.utf8)) } ?? signed
        guard let id = member?["member_id"]?.identifier, !id.isEmpty else {
            let report = ErrorReport(message: "bird:signin_success without a member_id in its member_data")
            signinMachine.serverError(report, into: &actions)
            return
        }
        let identity = SignedInIdentity(memberID: id, memberInfo: member?["member_info"]?.textUnlessNull)
        guard signinMachine.succeeded(identity, into: &actions) else { return }
        let channel = ChannelFamily.memberChannelName(memberID: id)
        actions.append(
            .send(session.socket, FrameEncoder.subscribe(channel: channel, auth: nil, memberData: nil)))
    }

    /// `bird_internal:watchlist_events`, for the signed-in member only.
    mutating func watchlistChanged(_ data: JSONValue?, into actions: inout [Action]) {
        guard identity != nil else { return }
        let events = (data?["events"]?.elements ?? []).compactMap { entry -> WatchlistEvent? in
            guard let name = entry["name"]?.string, name == "online" || name == "offline" else { return nil }
            let ids = (entry["member_ids"]?.elements ?? []).compactMap { $0.identifier }
            return WatchlistEvent(name: name, memberIDs: ids)
        }
        guard !events.isEmpty else { return }
        signinMachine.watch(events)
        actions.append(.watchlist(events))
    }

    /// True when the name is the channel of the signed-in member; no other member's channel counts.
    func isMemberChannel(_ slice: JSONStringSlice, in bytes: RawSpan) -> Bool {
        guard let identity = signinMachine.identity else { return false }
        if !slice.hasEscapes, slice.range.isEmpty || bytes[slice.range.lowerBound] != UInt8(ascii: "#") {
            return false
        }
        return slice.matches(ChannelFamily.memberChannelName(memberID: identity.memberID), in: bytes)
    }
}
