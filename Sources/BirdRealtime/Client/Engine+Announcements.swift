import Foundation
import RealtimeCore
import Synchronization

// What handlers, observers and waiters are told.

extension Engine {
    func deliver(_ item: DeliveryItem) {
        if delivery.add(item) == .firstDropOfRun {
            report(
                RealtimeError(
                    message: "handlers are too slow: events are dropped, because maxPendingDeliveryBytes of "
                        + "event data wait for the delivery queue"))
        }
    }

    /// An error found on this side. One that came from the service has a cost, so that many of them cannot pile up.
    func report(_ error: RealtimeError, cost: Int = 0) {
        note(.warning, error.message)
        tell(errorObservers, error, cost: cost)
    }

    private func tell<Input: Sendable>(_ observers: Observers<Input>, _ input: Input, cost: Int = 0) {
        let hearers = observers.happened(input)
        guard !hearers.isEmpty else { return }
        deliver(.call(cost: cost) { for observer in hearers { observer(input) } })
    }

    func announce(_ action: Action) {
        switch action {
        case .stateChanged(let from, let to):
            let change = StateChange(previous: ConnectionState(from), current: ConnectionState(to))
            note(to == .failed ? .error : .info, "\(from.rawValue) -> \(to.rawValue)")
            stateStreams.yield(change)
            tell(stateObservers, change)
        case .connectingIn(let wait):
            note(.info, "next attempt in \(wait.inSeconds) s")
            tell(connectingInObservers, wait.inSeconds)
        case .error(let error):
            report(RealtimeError(error), cost: error.message.utf8.count + DeliveryItem.baseCost)
        case .signinError(let failure):
            note(.warning, "signing in again failed")
            tell(signinErrorObservers, failure.thrown)
        case .signinFinished(let waiter, let result):
            let continuation = state.withLock { $0.waiters.removeValue(forKey: waiter) }
            continuation?.resume(with: result.map(SignedInMember.init).mapError(\.thrown))
        case .identityChanged:
            deliver(.call { [member] in member.watchlist.forget() })
        case .pingRoundTrip(let time):
            note(.debug, "ping answered after \(time.inSeconds) s")
        case .ignoredMessage(let why):
            note(.debug, "a message was ignored: \(why)")
        default:
            break
        }
    }

    func announceOnChannel(_ action: Action, _ lease: DeliveryLease) {
        switch action {
        case .subscriptionSucceeded(let id, let roster):
            let members = roster.map { $0.members.mapValues(Member.init) }
            if let members { channel(id)?.update(.replace(members)) }
            emit(BirdProtocol.Event.subscriptionSucceeded, members, [], on: id, lease)
        case .subscriptionFailed(let id, let failure):
            note(.warning, "subscription failed: \(failure.error)")
            var payload: [String: Any] = ["error": failure.error]
            if let endpoint = failure.endpoint { payload["endpoint"] = endpoint }
            if let status = failure.status { payload["status"] = status }
            emit(
                BirdProtocol.Event.subscriptionError, payload, JSONText.bytes(of: payload) ?? [], on: id,
                lease)
        case .subscriptionLost(let id):
            channel(id)?.update(.replace([:]))
        case .connectionCount(let id, let json):
            guard let channel = channel(id) else { return }
            deliver(BirdProtocol.Event.connectionCount, EventData(json: json), to: .channel(channel), lease)
        case .memberAdded(let id, let member):
            let value = Member(member)
            channel(id)?.update(.set(value))
            emit(BirdProtocol.Event.memberAdded, value, member.json, on: id, lease)
        case .memberUpdated(let id, let member):
            channel(id)?.update(.set(Member(member)))
        case .rosterReplaced(let id, let roster):
            channel(id)?.update(.replace(roster.members.mapValues(Member.init)))
        case .memberRemoved(let id, let member):
            channel(id)?.update(.remove(member.id))
            emit(BirdProtocol.Event.memberRemoved, Member(member), member.json, on: id, lease)
        case .watchlist(let events):
            let size = events.reduce(DeliveryItem.baseCost) { $1.memberIDs.reduce($0) { $0 + $1.utf8.count } }
            deliver(
                .call(cost: size) { [member] in
                    guard lease.isValid else { return }
                    for event in events { member.watchlist.deliver(event.name, event.memberIDs) }
                })
        default:
            break
        }
    }

    private func channel(_ id: ChannelID) -> Channel? { state.withLock { $0.channels[id] } }

    /// An event of the library's own, with a value made here.
    private func emit(
        _ name: String, _ value: Any?, _ json: [UInt8], on id: ChannelID, _ lease: DeliveryLease
    ) {
        guard let channel = channel(id) else { return }
        let data = EventData(json: json)
        channel.streams.yield(ChannelEvent(channel: channel.name, name: name, data: data))
        deliver(
            .event(
                EventDelivery(
                    handlers: channel.handlers, name: name,
                    payload: .local(EventDelivery.LocalValue(value: value), data: data), lease: lease)))
    }

    func deliver(_ name: String, _ data: EventData, to target: EventTarget, _ lease: DeliveryLease) {
        let handlers: HandlerTable
        switch target {
        case .channel(let channel):
            handlers = channel.handlers
            channel.streams.yield(ChannelEvent(channel: channel.name, name: name, data: data))
        case .member:
            handlers = member.handlers
            let identity = state.withLock { $0.machine.identity?.memberID } ?? ""
            let channel = ChannelFamily.memberChannelName(memberID: identity)
            member.streams.yield(ChannelEvent(channel: channel, name: name, data: data))
        }
        deliver(.event(EventDelivery(handlers: handlers, name: name, payload: .wire(data), lease: lease)))
    }
}

extension SigninFailure {
    /// What `signin()` throws. The own error of a program's authorizer keeps its type.
    var thrown: any Error {
        switch self {
        case .authorization(let failure): failure.cause ?? RealtimeError(message: failure.message)
        case .server(let report), .connectionLost(let report): RealtimeError(report)
        case .notConnectable(let phase):
            RealtimeError(
                message: "cannot sign in while the client is \(phase.rawValue): call connect() first")
        case .cancelled: CancellationError()
        }
    }
}

extension ConnectionState {
    init(_ phase: ConnectionPhase) {
        self =
            switch phase {
            case .initialized: .initialized
            case .connecting: .connecting
            case .connected: .connected
            case .unavailable: .unavailable
            case .disconnected: .disconnected
            case .failed: .failed
            }
    }
}
