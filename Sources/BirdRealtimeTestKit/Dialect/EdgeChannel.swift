/// The subscribers of one channel and, on a presence channel, their members.
struct EdgeChannel {
    struct Member: Equatable {
        /// The id as the JSON text that was signed: a string or a number.
        var idText: String
        var info: String?
        var connections: Set<Int>
    }

    /// In the order of their subscriptions.
    private(set) var subscribers: [Int] = []
    private(set) var members: [String: Member] = [:]
    private var memberOrder: [String] = []

    func contains(_ connection: Int) -> Bool { subscribers.contains(connection) }

    mutating func add(_ connection: Int) {
        subscribers.append(connection)
    }

    /// True when the member was not there on any connection.
    mutating func join(_ id: String, idText: String, info: String?, on connection: Int) -> Bool {
        guard members[id] == nil else {
            members[id]?.connections.insert(connection)
            return false
        }
        members[id] = Member(idText: idText, info: info, connections: [connection])
        memberOrder.append(id)
        return true
    }

    /// Returns the member whose last connection this was.
    mutating func remove(_ connection: Int) -> Member? {
        subscribers.removeAll { $0 == connection }
        guard let id = memberOrder.first(where: { members[$0]?.connections.contains(connection) == true })
        else { return nil }
        members[id]?.connections.remove(connection)
        guard members[id]?.connections.isEmpty == true else { return nil }
        memberOrder.removeAll { $0 == id }
        return members.removeValue(forKey: id)
    }

    /// The data of `bird_internal:subscription_succeeded` on a presence channel.
    var presence: String {
        let present = memberOrder.compactMap { id in members[id].map { (id, $0) } }
        return JSONText.object([
            (
                "presence",
                JSONText.object([
                    ("ids", JSONText.array(present.map(\.1.idText))),
                    ("hash", JSONText.object(present.map { ($0, $1.info ?? "null") })),
                    ("count", String(present.count)),
                ])
            )
        ])
    }
}

extension EdgeChannel.Member {
    /// The data of `bird_internal:member_added` and `bird_internal:member_removed`.
    var eventData: String {
        JSONText.object([("member_id", idText), ("member_info", info)])
    }
}
