import RealtimeCore
import Synchronization

/// Drives the protocol machine of one client: calls, socket events, answers and timers go in one at a time, under one
/// lock; what is to be done comes out as steps, which one thread at a time carries out in order, under no lock.
///
/// So every call may be made from any thread and from inside any handler, and getters, which read the machine, show
/// what a call did as soon as it has returned. Sockets, timers and tasks refer to the engine weakly: it goes with the
/// last reference to its client.
final class Engine: Sendable {
    /// Something to carry out in its turn.
    struct Step: Sendable {
        enum Work: Sendable {
            case action(Action)
            case event(EventTarget, name: String, EventData)
            case arm(BootTime?)
            case whenClosed(CheckedContinuation<Void, Never>)
        }

        let work: Work
        /// Ends when `disconnect()` is called after the step came to be.
        let lease: DeliveryLease
    }

    enum EventTarget: Sendable {
        case channel(Channel)
        case member
    }

    struct State: Sendable {
        var machine: RealtimeMachine
        var steps: [Step] = []
        var isDraining = false
        var isShutDown = false
        var lease = DeliveryLease()
        var channels: [ChannelID: Channel] = [:]
        var waiters: [WaiterID: CheckedContinuation<SignedInMember, any Error>] = [:]
        var lastWaiter = 0
        /// The deadline that the timer was last set to; nil when no timer runs.
        var armed: BootTime?
        var signedIn: (identity: SignedInIdentity, member: SignedInMember)?
    }

    /// What only the thread that carries out steps uses; the lock proves it and is never waited for.
    struct Resources: Sendable {
        var socket: (tag: SocketTag, socket: any RealtimeSocket)?
        var closing: Set<SocketTag> = []
        var closeWaiters: [CheckedContinuation<Void, Never>] = []
        var authorizations: [AuthorizationTag: Task<Void, Never>] = [:]
        var timer: RealtimeTimer?
    }

    let state: Mutex<State>
    let resources = Mutex(Resources())
    let clock: any RealtimeClock
    let connector: any SocketConnector
    let authorizers: Authorizers
    let delivery: Delivery
    let member: MemberEvents
    let log: (@Sendable (RealtimeLogEntry) -> Void)?

    let stateObservers = Observers<StateChange>()
    let errorObservers = Observers<RealtimeError>()
    let signinErrorObservers = Observers<any Error>()
    let connectingInObservers = Observers<Double>()
    let stateStreams = StreamHub<StateChange>()

    init(_ parts: EngineParts) {
        state = Mutex(State(machine: RealtimeMachine(configuration: parts.configuration)))
        clock = parts.clock
        connector = parts.connector
        authorizers = parts.authorizers
        delivery = parts.delivery
        log = parts.log
        member = parts.member
        member.attach(self)
    }

    var now: BootTime { BootTime(sinceBoot: clock.now) }

    /// One input of the machine: under the lock, then what follows from it.
    func input<Result: Sendable, Failure: Error>(
        _ body: (inout State, inout [Action]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let result = try state.withLock { state throws(Failure) in
            var actions: [Action] = []
            let result = try body(&state, &actions)
            state.append(actions)
            return result
        }
        drain()
        return result
    }

    /// Carries out what waits, unless another thread is about it (or this one, further up its stack).
    func drain() {
        var batch = state.withLock { state -> [Step] in
            guard !state.isDraining, !state.steps.isEmpty else { return [] }
            state.isDraining = true
            return state.takeSteps(returning: [])
        }
        while !batch.isEmpty {
            for step in batch { perform(step) }
            // What the steps held is let go of here, not under the lock.
            batch.removeAll(keepingCapacity: batch.capacity <= 64)
            let spare = batch
            batch = state.withLock { state in
                state.isDraining = !state.steps.isEmpty
                return state.takeSteps(returning: spare)
            }
        }
    }

    /// The client is gone: closes the socket, ends whatever waits, and lets go of everything.
    func shutDown() {
        let now = now
        let channels = input { state, actions in
            state.isShutDown = true
            state.lease.end()
            state.machine.disconnect(at: now, into: &actions)
            defer { state.channels = [:] }
            return Array(state.channels.values)
        }
        delivery.stop()
        for channel in channels { channel.die() }
        member.die()
        stateObservers.die()
        errorObservers.die()
        signinErrorObservers.die()
        connectingInObservers.die()
        stateStreams.finish()
    }
}

extension Engine.State {
    mutating func append(_ actions: [Action]) {
        for action in actions { steps.append(Engine.Step(work: .action(action), lease: lease)) }
        let deadline = machine.nextDeadline
        // A timer that fires early does no harm, so a deadline that only moved on needs no new one.
        if let deadline, let armed, deadline >= armed { return }
        guard deadline != armed else { return }
        armed = deadline
        steps.append(Engine.Step(work: .arm(deadline), lease: lease))
    }

    /// `spare` is an empty array whose storage is used again.
    mutating func takeSteps(returning spare: [Engine.Step]) -> [Engine.Step] {
        defer { steps = spare }
        return steps
    }
}

/// What an engine is made of.
struct EngineParts {
    var configuration: RealtimeConfiguration
    var clock: any RealtimeClock
    var connector: any SocketConnector
    var authorizers: Authorizers
    var delivery: Delivery
    var member: MemberEvents
    var log: (@Sendable (RealtimeLogEntry) -> Void)?
}
