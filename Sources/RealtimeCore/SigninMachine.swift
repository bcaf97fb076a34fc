/// Who is signed in on the connection of the moment, and who waits for it.
///
/// | state | connected | authorized | success | error without channel | authorizer failed | connection lost |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | off | | | | | | |
/// | armed | authorizing | | | waiters fail | | waiters fail |
/// | authorizing | | sent | | waiters fail | armed | armed, waiters fail |
/// | sent | | | signed in | refused, waiters fail | | armed, waiters fail |
/// | refused | | | signed in | | | armed |
/// | signed in | | | | | | armed, identity dropped |
///
/// `signin()` moves off to armed, and armed or refused to authorizing when there is a connection.
struct SigninMachine: Sendable {
    enum State: Hashable, Sendable {
        /// `signin()` was never called.
        case off
        /// Wanted: begins with the next connection, or with the next `signin()`.
        case armed
        /// The authorizer runs. `afterRefusal`: a signin frame of this connection may still succeed.
        case authorizing(AuthorizationTag, afterRefusal: Bool)
        /// The signin frame is sent.
        case sent
        /// Sent, and an error came instead of the success, which may yet follow.
        case refused
        case signedIn(SignedInIdentity)
    }

    private(set) var state = State.off
    private var waiters: [WaiterID] = []
    private(set) var watchlist = Watchlist()

    var identity: SignedInIdentity? {
        if case .signedIn(let identity) = state { identity } else { nil }
    }

    enum Step: Equatable { case nothing, authorize }

    /// True when the authorizer is to be asked; the tag follows in `authorizing(_:)`.
    mutating func join(_ waiter: WaiterID, isConnected: Bool, into actions: inout [Action]) -> Step {
        switch state {
        case .signedIn(let identity):
            actions.append(.signinFinished(waiter, .success(identity)))
            return .nothing
        case .off, .armed:
            state = .armed
            waiters.append(waiter)
            return isConnected ? .authorize : .nothing
        case .refused:
            waiters.append(waiter)
            return .authorize
        case .authorizing, .sent:
            waiters.append(waiter)
            return .nothing
        }
    }

    mutating func connected() -> Step {
        state == .armed ? .authorize : .nothing
    }

    mutating func authorizing(_ tag: AuthorizationTag) {
        state = .authorizing(tag, afterRefusal: state == .refused)
    }

    /// False for an answer that is not awaited.
    func isAwaiting(_ tag: AuthorizationTag) -> Bool {
        if case .authorizing(tag, _) = state { true } else { false }
    }

    mutating func frameSent() {
        state = .sent
    }

    mutating func authorizationFailed(_ failure: AuthorizationFailure, into actions: inout [Action]) {
        guard case .authorizing(_, let afterRefusal) = state else { return }
        state = afterRefusal ? .refused : .armed
        fail(.authorization(failure), elseReport: true, into: &actions)
    }

    /// An error without a channel. Only a signin that was sent can be what it speaks of; callers that wait hear it anyway.
    mutating func serverError(_ report: ErrorReport, into actions: inout [Action]) {
        switch state {
        case .sent:
            state = .refused
            fail(.server(report), elseReport: true, into: &actions)
        case .off, .armed, .authorizing, .refused, .signedIn:
            fail(.server(report), elseReport: false, into: &actions)
        }
    }

    /// True when the success was awaited: the member channel is to be subscribed.
    mutating func succeeded(_ identity: SignedInIdentity, into actions: inout [Action]) -> Bool {
        switch state {
        case .off, .armed, .signedIn, .authorizing(_, afterRefusal: false):
            return false
        case .authorizing(let tag, afterRefusal: true):
            actions.append(.cancelAuthorization(tag))
        case .sent, .refused:
            break
        }
        state = .signedIn(identity)
        watchlist = Watchlist()
        actions.append(.identityChanged(identity))
        let finished = waiters
        waiters = []
        for waiter in finished { actions.append(.signinFinished(waiter, .success(identity))) }
        return true
    }

    mutating func cancel(_ waiter: WaiterID, into actions: inout [Action]) {
        guard let index = waiters.firstIndex(of: waiter) else { return }
        waiters.remove(at: index)
        actions.append(.signinFinished(waiter, .failure(.cancelled)))
    }

    mutating func connectionLost(_ failure: SigninFailure, into actions: inout [Action]) {
        switch state {
        case .off:
            break
        case .armed, .sent, .refused:
            state = .armed
        case .authorizing(let tag, _):
            actions.append(.cancelAuthorization(tag))
            state = .armed
        case .signedIn:
            state = .armed
            watchlist = Watchlist()
            actions.append(.identityChanged(nil))
        }
        fail(failure, elseReport: false, into: &actions)
    }

    mutating func watch(_ events: [WatchlistEvent]) {
        watchlist.apply(events)
    }

    private mutating func fail(_ failure: SigninFailure, elseReport: Bool, into actions: inout [Action]) {
        if waiters.isEmpty, elseReport { actions.append(.signinError(failure)) }
        let failed = waiters
        waiters = []
        for waiter in failed { actions.append(.signinFinished(waiter, .failure(failure))) }
    }
}

/// What is known of the members on the watchlist since the signin.
struct Watchlist: Sendable {
    /// A server that names more ids than this is not remembered further; its events are still delivered.
    static let maximumCount = 100_000

    private var isOnline: [String: Bool] = [:]

    mutating func apply(_ events: [WatchlistEvent]) {
        for event in events {
            for id in event.memberIDs where isOnline[id] != nil || isOnline.count < Watchlist.maximumCount {
                isOnline[id] = event.name == "online"
            }
        }
    }

    var snapshot: [WatchlistEvent] {
        [("online", true), ("offline", false)].compactMap { name, online in
            let ids = isOnline.filter { $0.value == online }.keys.sorted()
            return ids.isEmpty ? nil : WatchlistEvent(name: name, memberIDs: ids)
        }
    }
}
