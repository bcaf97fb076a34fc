internal import RealtimeCore

extension EdgeMachine {
    mutating func subscribe(_ data: JSONValue?, _ connection: Int) throws(Violation) {
        let name = try channelName(data, "bird:subscribe")
        guard let client = clients[connection] else { return }
        guard !client.channels.contains(name) else {
            throw .alreadyDone("this connection is subscribed to \"\(name)\" already")
        }
        let memberData = data?["member_data"]?.string
        if name.hasPrefix("#") {
            guard let identity = client.identity,
                name == ChannelFamily.memberChannelName(memberID: identity.id)
            else { throw .unauthorized("\"\(name)\" is for the connections signed in as that member") }
        }
        let family = ChannelFamily(name: name)
        switch family {
        case .public: break
        case .private, .encrypted:
            try check(
                data, name,
                EdgeSignature.text(connectionID: client.connectionID, channel: name, memberData: nil))
        case .presence:
            guard let memberData else { throw .unauthorized("\"\(name)\" needs `member_data`") }
            try check(
                data, name,
                EdgeSignature.text(
                    connectionID: client.connectionID, channel: name, memberData: memberData))
        }
        let member = family == .presence ? try MemberData(memberData ?? "") : nil
        enter(name, connection, member)
    }

    /// A channel the connection is not subscribed to is left in silence: its subscription may have been refused.
    mutating func unsubscribe(_ data: JSONValue?, _ connection: Int) throws(Violation) {
        let name = try channelName(data, "bird:unsubscribe")
        guard clients[connection]?.channels.remove(name) != nil else { return }
        leave(name, connection)
    }

    mutating func relay(_ event: String, channel: String?, data: JSONValue?, from connection: Int)
        throws(Violation)
    {
        guard let channel else { throw .clientEvent("the client event \"\(event)\" names no channel") }
        switch ChannelFamily(name: channel) {
        case .public:
            throw .clientEvent("client events need a private or presence channel, not \"\(channel)\"")
        case .encrypted: throw .clientEvent("client events are not taken on the encrypted \"\(channel)\"")
        case .private, .presence: break
        }
        guard clients[connection]?.channels.contains(channel) == true else {
            throw .clientEvent("this connection is not subscribed to \"\(channel)\"")
        }
        let text = frame.event(
            event, channel: channel, data: data.map { String(decoding: $0.text, as: UTF8.self) } ?? "null")
        for subscriber in channels[channel]?.subscribers ?? [] where subscriber != connection {
            send(text, to: subscriber)
        }
    }

    private mutating func enter(_ name: String, _ connection: Int, _ member: MemberData?) {
        clients[connection]?.channels.insert(name)
        var channel = channels[name] ?? EdgeChannel()
        let others = channel.subscribers
        channel.add(connection)
        var isNew = false
        if let member {
            isNew = channel.join(member.id, idText: member.idText, info: member.info, on: connection)
        }
        channels[name] = channel
        send(
            frame.event(
                "bird_internal:subscription_succeeded", channel: name,
                data: member == nil ? "{}" : channel.presence), to: connection)
        if isNew, let member, let added = channel.members[member.id] {
            announce("bird_internal:member_added", name, added, to: others)
        }
        sendConnectionCount(name)
    }

    mutating func leave(_ name: String, _ connection: Int) {
        guard var channel = channels[name] else { return }
        let gone = channel.remove(connection)
        channels[name] = channel.subscribers.isEmpty ? nil : channel
        if let gone { announce("bird_internal:member_removed", name, gone, to: channel.subscribers) }
        sendConnectionCount(name)
    }

    private mutating func announce(
        _ event: String, _ channel: String, _ member: EdgeChannel.Member, to connections: [Int]
    ) {
        let text = frame.event(event, channel: channel, data: member.eventData)
        for connection in connections { send(text, to: connection) }
    }

    private mutating func sendConnectionCount(_ name: String) {
        guard options.sendsConnectionCount, !name.hasPrefix("#"), ChannelFamily(name: name) != .presence,
            let subscribers = channels[name]?.subscribers
        else { return }
        let text = frame.event(
            "bird_internal:connection_count", channel: name,
            data: JSONText.object([("connection_count", String(subscribers.count))]))
        for connection in subscribers { send(text, to: connection) }
    }

    private func channelName(_ data: JSONValue?, _ event: String) throws(Violation) -> String {
        guard let data, data.isObject else { throw .malformed("the data of \(event) is not an object") }
        guard let name = data["channel"]?.string, !name.isEmpty else {
            throw .malformed("the data of \(event) has no string `channel`")
        }
        return name
    }

    private func check(_ data: JSONValue?, _ name: String, _ text: String) throws(Violation) {
        guard let fault = options.signature.fault(in: data?["auth"]?.string, for: text) else { return }
        throw .unauthorized("subscription to \"\(name)\" refused: \(fault)")
    }
}

/// What a signed `member_data` says.
struct MemberData: Equatable {
    var id: String
    /// The id's JSON text.
    var idText: String
    var info: String?
    var watchlist: [String]

    init(_ text: String) throws(EdgeMachine.Violation) {
        guard let value = JSONValue(parsing: Array(text.utf8)), value.isObject else {
            throw .malformed("`member_data` is not a JSON object")
        }
        guard let member = value["member_id"], let id = member.identifier, !id.isEmpty else {
            throw .malformed("`member_data` has no `member_id`")
        }
        self.id = id
        idText = String(decoding: member.text, as: UTF8.self)
        info = value["member_info"]?.textUnlessNull.map { String(decoding: $0, as: UTF8.self) }
        watchlist = value["watchlist"]?.elements?.compactMap(\.identifier) ?? []
    }
}
