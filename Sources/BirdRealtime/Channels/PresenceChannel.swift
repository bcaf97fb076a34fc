import RealtimeCore
import Synchronization

/// A channel whose subscription the backend authorizes: its name begins with `private-`.
public class PrivateChannel: Channel, @unchecked Sendable {
    // Sendable is sound for the reason given at `Channel`.
}

/// A private channel whose events only subscribers can read: its name begins with `private-encrypted-`.
public final class EncryptedChannel: PrivateChannel, @unchecked Sendable {
    // Sendable is sound for the reason given at `Channel`.
}

/// A private channel that knows who is on it: its name begins with `presence-`.
public final class PresenceChannel: PrivateChannel, @unchecked Sendable {
    // Sendable is sound for the reason given at `Channel`.

    private let roster = Mutex<[String: Member]>([:])

    /// Who is on the channel, by member id. Current when the handlers of `bird:subscription_succeeded` run; empty
    /// while the channel is not subscribed.
    public var members: [String: Member] {
        subscribed ? roster.withLock { $0 } : [:]
    }

    /// The own id, from the member data the backend signed; nil while the channel is not subscribed.
    public var myId: String? { engine?.ownMemberID(on: id) }

    override func update(_ change: RosterChange) {
        switch change {
        case .replace(let members): roster.withLock { $0 = members }
        case .set(let member): roster.withLock { $0[member.memberId] = member }
        case .remove(let id): roster.withLock { _ = $0.removeValue(forKey: id) }
        }
    }
}

/// How the members of a presence channel change.
enum RosterChange {
    case replace([String: Member])
    case set(Member)
    case remove(String)
}

extension Channel {
    /// The object that fits the name.
    static func make(name: String, id: ChannelID, engine: Engine) -> Channel {
        switch ChannelFamily(name: name) {
        case .public: Channel(name: name, id: id, engine: engine)
        case .private: PrivateChannel(name: name, id: id, engine: engine)
        case .presence: PresenceChannel(name: name, id: id, engine: engine)
        case .encrypted: EncryptedChannel(name: name, id: id, engine: engine)
        }
    }
}

extension Member {
    init(_ member: PresenceMember) {
        self.init(memberId: member.id, memberInfo: member.info.flatMap(JSONText.value))
    }
}

extension PresenceMember {
    /// The member as the wire describes it, for handlers of undecoded data.
    var json: [UInt8] {
        var text = Array(#"{"member_id":"#.utf8)
        FrameEncoder.appendString(id, to: &text)
        if let info {
            text += Array(#","member_info":"#.utf8) + info
        }
        text.append(UInt8(ascii: "}"))
        return text
    }
}
