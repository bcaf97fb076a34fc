internal import CSystemShims
internal import Glibc

/// epoll with what belongs to it: the table of watches, the eventfd that wakes it and the timerfd that times it.
///
/// Used on the loop's thread only, but for `wake`. The kernel hands back a token for each event: a slot's number and the
/// generation of its use. Unwatching ends the generation, so an event from the same batch, or of a descriptor whose
/// number is used again, finds nobody.
final class Poller {
    private struct Slot {
        var generation: UInt32
        var descriptor: Int32
        var interest: Interest
        var handler: (any ReadinessHandler)?  // nil: the slot is free
    }

    private static let wakeToken = UInt64.max
    private static let timerToken = UInt64.max - 1
    private static let batchSize = 256

    private let epoll: Descriptor
    private let wakeUps: Descriptor
    private let timer: Descriptor
    private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: batchSize)
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var armed: BootInstant?

    init() throws(SystemError) {
        epoll = try Descriptor(checking: epoll_create1(Int32(EPOLL_CLOEXEC)), "create an epoll")
        wakeUps = try Descriptor(
            checking: eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)), "create an eventfd")
        timer = try Descriptor(
            checking: timerfd_create(
                CLOCK_BOOTTIME, Int32(TFD_CLOEXEC | TFD_NONBLOCK)),
            "create a timerfd")
        try control(EPOLL_CTL_ADD, wakeUps.rawValue, EPOLLIN.rawValue, Self.wakeToken)
        try control(EPOLL_CTL_ADD, timer.rawValue, EPOLLIN.rawValue, Self.timerToken)
    }

    deinit {
        events.deallocate()
    }

    // MARK: Watches

    func watch(_ descriptor: Int32, _ interest: Interest, _ handler: any ReadinessHandler) throws(SystemError)
        -> WatchID
    {
        let index = freeSlots.last ?? slots.count
        let generation = index < slots.count ? slots[index].generation : 0
        let token = Self.token(index, generation)
        try control(EPOLL_CTL_ADD, descriptor, Self.events(for: interest), token)
        let slot = Slot(
            generation: generation, descriptor: descriptor, interest: interest, handler: handler)
        if index < slots.count {
            freeSlots.removeLast()
            slots[index] = slot
        } else {
            slots.append(slot)
        }
        return WatchID(token: token)
    }

    func change(_ id: WatchID, _ interest: Interest) {
        guard let index = liveIndex(id.token), slots[index].interest != interest else { return }
        slots[index].interest = interest
        // Cannot fail: the descriptor is registered, and modifying allocates nothing.
        try? control(EPOLL_CTL_MOD, slots[index].descriptor, Self.events(for: interest), id.token)
    }

    func unwatch(_ id: WatchID) {
        guard let index = liveIndex(id.token) else { return }
        // An error means that the descriptor was closed before, which has ended the registration already.
        try? control(EPOLL_CTL_DEL, slots[index].descriptor, 0, 0)
        slots[index].generation &+= 1
        freeSlots.append(index)
        // Last: the handler's deinit may come back here.
        _ = slots[index].handler.take()
    }

    func unwatchAll() {
        for index in slots.indices where slots[index].handler != nil {
            unwatch(WatchID(token: Self.token(index, slots[index].generation)))
        }
    }

    // MARK: Waiting

    /// Makes the current or the next wait return. From any thread.
    func wake() {
        var one: UInt64 = 1
        // EAGAIN means that the counter is full, so the wait returns anyway.
        _ = retryingInterrupts { write(wakeUps.rawValue, &one, 8) }
    }

    /// Waits for events, without end or not at all, and delivers them.
    func poll(waits: Bool, until deadline: BootInstant?) {
        if waits { arm(deadline) }
        let count = epoll_wait(epoll.rawValue, events, Int32(Self.batchSize), waits ? -1 : 0)
        guard count > 0 else { return }  // EINTR: the next round waits again
        for index in 0..<Int(count) {
            let token = shim_epoll_token(events + index)
            switch token {
            case Self.wakeToken:
                drain(wakeUps.rawValue)
            case Self.timerToken:
                drain(timer.rawValue)
                armed = nil
            default:
                deliver(shim_epoll_events(events + index), token)
            }
        }
    }

    private func deliver(_ kernel: UInt32, _ token: UInt64) {
        guard let index = liveIndex(token), let handler = slots[index].handler else { return }
        let interest = slots[index].interest
        var readiness: Readiness = []
        let isBroken = kernel & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
        if interest.contains(.read), isBroken || kernel & EPOLLIN.rawValue != 0 {
            readiness.insert(.readable)
        }
        if interest.contains(.write), isBroken || kernel & EPOLLOUT.rawValue != 0 {
            readiness.insert(.writable)
        }
        if kernel & EPOLLHUP.rawValue != 0 { readiness.insert(.hangup) }
        if kernel & EPOLLERR.rawValue != 0 { readiness.insert(.error) }
        // Empty when an earlier handler of this batch has taken the interest away.
        if !readiness.isEmpty { handler.ready(readiness) }
    }

    /// Sets the timerfd, unless it rings early enough anyway: ringing once too early is cheaper than setting it each time.
    private func arm(_ deadline: BootInstant?) {
        guard let deadline, deadline != .distantFuture else { return }
        if let armed, armed <= deadline { return }
        let nanoseconds = max(deadline.nanoseconds, 1)  // 0 would disarm
        var setting = itimerspec()
        setting.it_value.tv_sec = Int(nanoseconds / 1_000_000_000)
        setting.it_value.tv_nsec = Int(nanoseconds % 1_000_000_000)
        timerfd_settime(timer.rawValue, Int32(TFD_TIMER_ABSTIME), &setting, nil)
        armed = deadline
    }

    private func drain(_ descriptor: Int32) {
        var value: UInt64 = 0
        _ = retryingInterrupts { read(descriptor, &value, 8) }
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ events: UInt32, _ token: UInt64)
        throws(SystemError)
    {
        guard shim_epoll_ctl(epoll.rawValue, operation, descriptor, events, token) == 0 else {
            throw .current("watch descriptor \(descriptor)")
        }
    }

    private func liveIndex(_ token: UInt64) -> Int? {
        let index = Int(token & 0xFFFF_FFFF)
        guard index < slots.count, slots[index].handler != nil,
            slots[index].generation == UInt32(token >> 32)
        else { return nil }
        return index
    }

    private static func token(_ index: Int, _ generation: UInt32) -> UInt64 {
        UInt64(generation) << 32 | UInt64(index)
    }

    /// Level triggered. Without interest the kernel still reports hang-ups and errors: edge triggered then, so that
    /// a handler which ignores them does not keep the loop busy.
    private static func events(for interest: Interest) -> UInt32 {
        guard !interest.isEmpty else { return EPOLLET.rawValue }
        return (interest.contains(.read) ? EPOLLIN.rawValue : 0)
            | (interest.contains(.write) ? EPOLLOUT.rawValue : 0)
    }
}
