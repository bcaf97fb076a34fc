import RealtimeCore
import Synchronization

// What sockets, authorizers and timers say.

extension Engine {
    func socketOpened(_ tag: SocketTag) {
        input { state, _ in state.machine.socketOpened(tag) }
    }

    func attemptFailed(_ tag: SocketTag, _ failure: AttemptFailure) {
        let now = now
        input { state, actions in state.machine.attemptFailed(tag, failure, at: now, into: &actions) }
    }

    func socketEnded(_ tag: SocketTag, _ end: SocketEnd) {
        let now = now
        input { state, actions in state.machine.socketEnded(tag, end, at: now, into: &actions) }
    }

    func received(_ message: RawSpan, isText: Bool, on tag: SocketTag) {
        let now = now
        input { state, actions in
            let event = state.machine.receive(message, isText: isText, on: tag, at: now, into: &actions)
            if let event { self.take(event, in: message, &state) }
        }
    }

    /// An application event: copied out of the message if anybody can want it.
    private func take(_ event: InboundEvent, in message: RawSpan, _ state: inout State) {
        let target: EventTarget
        let handlers: HandlerTable
        let streams: StreamHub<ChannelEvent>
        switch event.recipient {
        case .member:
            (target, handlers, streams) = (.member, member.handlers, member.streams)
        case .channel(let id):
            guard let channel = state.channels[id] else { return }
            (target, handlers, streams) = (.channel(channel), channel.handlers, channel.streams)
        }
        let name = event.name.string(in: message)
        if !handlers.wants(name), streams.isEmpty, state.steps.isEmpty, delivery.isIdle {
            // Nothing waits in which a handler for it could still be bound.
            return
        }
        state.steps.append(
            Step(
                work: .event(target, name: name, EventData(event.data, in: message)), lease: state.lease))
    }

    func channelAuthorized(
        _ tag: AuthorizationTag, _ result: Result<ChannelAuthorization, AuthorizationFailure>
    ) {
        _ = resources.withLock { $0.authorizations.removeValue(forKey: tag) }
        input { state, actions in state.machine.channelAuthorized(tag, result, into: &actions) }
    }

    func memberAuthorized(
        _ tag: AuthorizationTag, _ result: Result<MemberAuthorization, AuthorizationFailure>
    ) {
        _ = resources.withLock { $0.authorizations.removeValue(forKey: tag) }
        input { state, actions in state.machine.memberAuthorized(tag, result, into: &actions) }
    }

    func timerFired(for deadline: BootTime) {
        let now = now
        input { state, actions in
            // A timer that was replaced meanwhile says nothing.
            guard state.armed == deadline else { return }
            state.armed = nil
            state.machine.advance(to: now, into: &actions)
        }
    }
}
