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

        /// True when events of the channel are for the app. The server may publish before its answer is through.
        var acceptsEvents: Bool {
            switch self {
            case .pending, .doubted, .subscribed: true
            case .authorizing(_, let afterDoubt): afterDoubt
            case .idle, .refused: false
            }
        }
    }

    let id: ChannelID
    let name: String
    let family: ChannelFamily
    var phase = Phase.idle
    var roster = PresenceRoster()
    fileprivate var nextWithSameHash: Int?
}

/// The channels that the app keeps, found by the bytes of their name without making a `String`.
struct SubscriptionTable: Sendable {
    private var slots: [Subscription?] = []
    private var free: [Int] = []
    private var slotByHash: [UInt64: Int] = [:]
    private var slotByID: [ChannelID: Int] = [:]
    private var slotByAuthorization: [AuthorizationTag: Int] = [:]
    private var lastID = 0

    /// In the order of their `subscribe`.
    var all: [Subscription] {
        slots.compactMap { $0 }.sorted { $0.id.rawValue < $1.id.rawValue }
    }

    subscript(id: ChannelID) -> Subscription? {
        slotByID[id].flatMap { slots[$0] }
    }

    func named(_ name: String) -> Subscription? {
        var slot = slotByHash[SubscriptionTable.hash(name.utf8)]
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
        var slot = slotByHash[hash.value]
        while let index = slot, let subscription = slots[index] {
            if bytes.matches(subscription.name, in: slice.range) { return subscription }
            slot = subscription.nextWithSameHash
        }
        return nil
    }

    mutating func add(_ name: String) -> Subscription {
        lastID += 1
        let hash = SubscriptionTable.hash(name.utf8)
        var subscription = Subscription(
            id: ChannelID(rawValue: lastID), name: name, family: ChannelFamily(name: name))
        subscription.nextWithSameHash = slotByHash[hash]
        let slot: Int
        if let reused = free.popLast() {
            slot = reused
            slots[slot] = subscription
        } else {
            slot = slots.count
            slots.append(subscription)
        }
        slotByHash[hash] = slot
        slotByID[subscription.id] = slot
        return subscription
    }

    mutating func remove(_ id: ChannelID) {
        guard let slot = slotByID.removeValue(forKey: id), let gone = slots[slot] else { return }
        forgetAuthorization(of: gone)
        let hash = SubscriptionTable.hash(gone.name.utf8)
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

    mutating func updateRoster<Result>(
        of id: ChannelID, _ body: (inout PresenceRoster) -> Result
    ) -> Result? {
        guard let slot = slotByID[id], slots[slot] != nil else { return nil }
        var roster = PresenceRoster()
        swap(&roster, &slots[slot]!.roster)  // Sound: the line above checked that the slot is taken.
        let result = body(&roster)
        slots[slot]?.roster = roster
        return result
    }

    private mutating func forgetAuthorization(of subscription: Subscription) {
        if case .authorizing(let tag, _) = subscription.phase { slotByAuthorization[tag] = nil }
    }

    private static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash = FNV1a()
        for byte in bytes { hash.combine(byte) }
        return hash.value
    }
}

/// Not keyed, and need not be: only names that the app itself chose are stored.
private struct FNV1a {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func combine(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}
