internal import RealtimeCore

extension EdgeMachine {
    mutating func signin(_ data: JSONValue?, _ connection: Int) throws(Violation) {
        guard let data, data.isObject else { throw .malformed("the data of bird:signin is not an object") }
        guard let memberData = data["member_data"]?.string, !memberData.isEmpty else {
            throw .malformed("the data of bird:signin has no string `member_data`")
        }
        guard let client = clients[connection] else { return }
        let text = EdgeSignature.signinText(connectionID: client.connectionID, memberData: memberData)
        if let fault = options.signature.fault(in: data["auth"]?.string, for: text) {
            throw .unauthorized("sign-in refused: \(fault)")
        }
        let member = try MemberData(memberData)
        guard client.identity == nil || client.identity?.id == member.id else {
            throw .alreadyDone("this connection is signed in as another member already")
        }
        clients[connection]?.identity = Identity(id: member.id, watchlist: member.watchlist)
        let isNew = signedIn[member.id, default: []].isEmpty
        signedIn[member.id, default: []].insert(connection)
        send(
            frame.event(
                "bird:signin_success", data: JSONText.object([("member_data", JSONText.string(memberData))])),
            to: connection)
        sendSnapshot(of: member.watchlist, to: connection)
        if isNew { tellWatchers(of: member.id, "online", except: connection) }
    }

    mutating func goOffline(_ identity: Identity, _ connection: Int) {
        signedIn[identity.id]?.remove(connection)
        guard signedIn[identity.id]?.isEmpty == true else { return }
        signedIn[identity.id] = nil
        tellWatchers(of: identity.id, "offline", except: connection)
    }

    /// Right after signing in a member hears who of its watchlist is there and who is not.
    private mutating func sendSnapshot(of watchlist: [String], to connection: Int) {
        let online = watchlist.filter { signedIn[$0] != nil }
        let offline = watchlist.filter { signedIn[$0] == nil }
        let events = [("online", online), ("offline", offline)].filter { !$0.1.isEmpty }
        guard !events.isEmpty else { return }
        send(watchlistEvents(events), to: connection)
    }

    private mutating func tellWatchers(of member: String, _ name: String, except: Int) {
        let text = watchlistEvents([(name, [member])])
        for (connection, client) in clients.sorted(by: { $0.key < $1.key })
        where connection != except && client.identity?.watchlist.contains(member) == true {
            send(text, to: connection)
        }
    }

    private func watchlistEvents(_ events: [(name: String, members: [String])]) -> String {
        let list = events.map { event in
            JSONText.object([
                ("name", JSONText.string(event.name)), ("member_ids", JSONText.strings(event.members)),
            ])
        }
        return frame.event(
            "bird_internal:watchlist_events", data: JSONText.object([("events", JSONText.array(list))]))
    }
}
