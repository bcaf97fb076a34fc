/// A member of a presence channel.
package struct PresenceMember: Hashable, Sendable {
    package var id: String
    /// The JSON text of `member_info`; nil when absent or null.
    package var info: [UInt8]?

    package init(id: String, info: [UInt8]? = nil) {
        self.id = id
        self.info = info
    }
}

/// Who is on a presence channel.
package struct PresenceRoster: Hashable, Sendable {
    /// Member info by member id.
    package private(set) var members: [String: PresenceMember] = [:]
    /// The own id, from the `member_data` that was signed for this subscription.
    package var ownID: String?

    package init(members: [PresenceMember] = [], ownID: String? = nil) {
        for member in members { self.members[member.id] = member }
        self.ownID = ownID
    }

    package enum Addition { case added, updated, unchanged }

    /// A repeated `member_added` (one per device) only refreshes the info.
    package mutating func add(_ member: PresenceMember) -> Addition {
        switch members.updateValue(member, forKey: member.id) {
        case nil: .added
        case member: .unchanged
        case .some: .updated
        }
    }

    /// nil when the id was not known. The member leaves with the info under which it was known.
    package mutating func remove(id: String) -> PresenceMember? {
        members.removeValue(forKey: id)
    }
}

extension PresenceRoster {
    /// Reads `{"presence": {"ids": [id], "hash": {id: info}, "count"}}`. Replaces everything known before.
    package init(succeeded data: JSONValue?, ownID: String?) {
        let presence = data?["presence"]
        var members: [PresenceMember] = []
        for id in presence?["ids"]?.elements ?? [] {
            if let id = id.identifier { members.append(PresenceMember(id: id)) }
        }
        for (id, info) in presence?["hash"]?.members ?? [] {
            members.append(PresenceMember(id: id, info: info.textUnlessNull))
        }
        self.init(members: members, ownID: ownID)
    }
}

extension PresenceMember {
    /// Reads `{"member_id", "member_info"?}`; nil without a usable id.
    package init?(_ data: JSONValue?) {
        guard let data, let id = data["member_id"]?.identifier else { return nil }
        self.init(id: id, info: data["member_info"]?.textUnlessNull)
    }
}
