/// One channel that the app keeps.
struct Subscription: Sendable {
    /// Where the channel stands on the connection of the moment.
    enum Phase: Hashable, Sendable {
        /// No connection.
        case idle
        /// The authorizer runs. `afterDoubt`: a subscribe frame of this connection may still succeed.
        case authorizing(AuthorizationTag, afterDoubt: Bool)
        /// The subscribe frame is sent.
        case pending
        /// Sent, and then a `bird:error` without a channel arrived: this may be the refused one.
        case doubted
        case subscribed
        /// The authorizer failed, or the server refused.
        case refused

        /// True when the server may hold a subscription of this connection.
        var hasSentFrame: Bool {
            switch self {
            case .pending, .doubted, .subscribed: true
            case .authorizing(_, let afterDoubt): afterDoubt
            case .idle, .refused: false
            }
        }

        /// True when events of the channel are for the app: the server may publish before its answer is through.
        var acceptsEvents: Bool { hasSentFrame }
    }

    let id: ChannelID
    let name: String
    let family: ChannelFamily
    var phase = Phase.idle
    /// The request for a new secret of an encrypted channel that stays subscribed.
    var renewal: AuthorizationTag?
    var lastRenewal: BootTime?
    fileprivate var nextWithSameHash: Int?
}

/// The channels that the app keeps, found by the bytes of their name without making a `String`.
struct SubscriptionTable: Sendable {
    private var slots: [Subscription?] = []
    /// By slot. Apart from the subscriptions, so that a copy of one never makes a change of a roster copy it.
    private var rosters: [PresenceRoster] = []
    private var free: [Int] = []
    private var slotByHash: [UInt64: Int] = [:]
    private var slotByID: [ChannelID: Int] = [:]
    private var slotByAuthorization: [AuthorizationTag: Int] = [:]
    private var lastID = 0
    /// Cuts the hashes; tests make every name collide.
    private let hashMask: UInt64

    init(hashMask: UInt64 = .max) {
        self.hashMask = hashMask
    }

    /// In the order of their `subscribe`.
    var all: [Subscription] {
        slots.compactMap { $0 }.sorted { $0.id.rawValue < $1.id.rawValue }
    }

    subscript(id: ChannelID) -> Subscription? {
        slotByID[id].flatMap { slots[$0] }
    }

    func named(_ name: String) -> Subscription? {
        var slot = slotByHash[hash(name.utf8)]
        while let index = slot, let subscription = slots[index] {
            if subscription.name == name { return subscription }
            slot = subscription.nextWithSameHash
        }
        return nil
    }

    func named(_ slice: JSONStringSlice, in bytes: RawSpan) -> Subscription? {
        if slice.hasEscapes { return named(slice.string(in: bytes)) }
        var hash = FNV1a()
        for offset in slice.range { hash.combine(bytes[offset]) }
        var slot = slotByHash[hash.value & hashMask]
        while let index = slot, let subscription = slots[index] {
            if bytes.matches(subscription.name, in: slice.range) { return subscription }
            slot = subscription.nextWithSameHash
        }
        return nil
    }

    mutating func add(_ name: String) -> Subscription {
        lastID += 1
        let hash = self.hash(name.utf8)
        var subscription = Subscription(
            id: ChannelID(rawValue: lastID), name: name, family: ChannelFamily(name: name))
        subscription.nextWithSameHash = slotByHash[hash]
        let slot: Int
        if let reused = free.popLast() {
            slot = reused
            slots[slot] = subscription
            rosters[slot] = PresenceRoster()
        } else {
            slot = slots.count
            slots.append(subscription)
            rosters.append(PresenceRoster())
        }
        slotByHash[hash] = slot
        slotByID[subscription.id] = slot
        return subscription
    }

    mutating func remove(_ id: ChannelID) {
        guard let slot = slotByID.removeValue(forKey: id), let gone = slots[slot] else { return }
        forgetAuthorization(of: gone)
        if let tag = gone.renewal { slotByAuthorization[tag] = nil }
        let hash = self.hash(gone.name.utf8)
        if slotByHash[hash] == slot {
            slotByHash[hash] = gone.nextWithSameHash
        } else {
            var previous = slotByHash[hash]
            while let index = previous, slots[index]?.nextWithSameHash != slot {
                previous = slots[index]?.nextWithSameHash
            }
            if let index = previous { slots[index]?.nextWithSameHash = gone.nextWithSameHash }
        }
        slots[slot] = nil
        rosters[slot] = PresenceRoster()
        free.append(slot)
    }

    /// The channel whose authorizer's answer this is; nil for an answer that nobody awaits any more.
    func awaiting(_ tag: AuthorizationTag) -> Subscription? {
        slotByAuthorization[tag].flatMap { slots[$0] }
    }

    mutating func setPhase(_ phase: Subscription.Phase, of id: ChannelID) {
        guard let slot = slotByID[id], let old = slots[slot] else { return }
        forgetAuthorization(of: old)
        if case .authorizing(let tag, _) = phase { slotByAuthorization[tag] = slot }
        slots[slot]?.phase = phase
    }

    /// Begins or ends the wait for a new secret.
    mutating func setRenewal(_ tag: AuthorizationTag?, at now: BootTime? = nil, of id: ChannelID) {
        guard let slot = slotByID[id], let old = slots[slot] else { return }
        if let tag = old.renewal { slotByAuthorization[tag] = nil }
        if let tag { slotByAuthorization[tag] = slot }
        slots[slot]?.renewal = tag
        if let now { slots[slot]?.lastRenewal = now }
    }

    func roster(of id: ChannelID) -> PresenceRoster? {
        slotByID[id].map { rosters[$0] }
    }

    mutating func updateRoster<Result>(
        of id: ChannelID, _ body: (inout PresenceRoster) -> Result
    ) -> Result? {
        guard let slot = slotByID[id] else { return nil }
        return body(&rosters[slot])
    }

    private mutating func forgetAuthorization(of subscription: Subscription) {
        if case .authorizing(let tag, _) = subscription.phase { slotByAuthorization[tag] = nil }
    }

    private func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash = FNV1a()
        for byte in bytes { hash.combine(byte) }
        return hash.value & hashMask
    }
}

/// Not keyed, and need not be: only names that the app itself chose are stored.
private struct FNV1a {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func combine(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}
