import BirdRealtime
import Dispatch
import Foundation

/// A program as the users of the official client write it: a wrapper with a bit of state, on the main actor.
@MainActor final class ChatModel {
    private let bird: BirdRealtime
    private(set) var lines: [String] = []
    private(set) var people: [String] = []
    private(set) var states: [ConnectionState] = []
    private(set) var errors: [String] = []
    private(set) var me: String?

    init(options: BirdRealtimeOptions) {
        bird = BirdRealtime(options: options)
        bird.onConnectionStateChange { [weak self] _, current in
            MainActor.assumeIsolated { self?.states.append(current) }
        }
        bird.onError { [weak self] error in
            MainActor.assumeIsolated { self?.errors.append("\(error.code ?? 0) \(error.message)") }
        }
        bird.onSigninError { error in _ = error.localizedDescription }
    }

    var isConnected: Bool { bird.connectionState == .connected && bird.connectionId != nil }

    func join(_ room: String) {
        let channel = bird.subscribe("presence-\(room)")
        channel.bind(BirdProtocol.Event.subscriptionSucceeded) { [weak self, weak channel] data in
            let members = data as? [String: Member]
            let mine = (channel as? PresenceChannel)?.myId
            MainActor.assumeIsolated {
                self?.people = (members?.keys.sorted() ?? [])
                self?.me = mine
            }
        }
        channel.bind(BirdProtocol.Event.memberAdded) { [weak self] data in
            guard let member = data as? Member else { return }
            MainActor.assumeIsolated { self?.people.append(member.memberId) }
        }
        channel.bind(BirdProtocol.Event.memberRemoved) { [weak self] data in
            guard let member = data as? Member else { return }
            MainActor.assumeIsolated { self?.people.removeAll { $0 == member.memberId } }
        }
        channel.bind("client-line") { [weak self] data in
            guard let text = (data as? [String: Any])?["text"] as? String else { return }
            MainActor.assumeIsolated { self?.lines.append(text) }
        }
    }

    func say(_ text: String, in room: String) throws -> Bool {
        guard let channel = bird.channel("presence-\(room)") as? PresenceChannel else { return false }
        return try channel.trigger("client-line", data: ["text": text])
    }

    func leave(_ room: String) { bird.unsubscribe("presence-\(room)") }
    func stop() { bird.disconnect() }
    func start() { bird.connect() }
}

/// The initialiser held as a function, with all its labels.
typealias MakeOptions =
    @Sendable (
        String, String?, String?, String?, [String: String], Authorizer?, String?, MemberAuthorizer?,
        TimeInterval,
        TimeInterval, Bool
    ) -> BirdRealtimeOptions

let makeOptions: MakeOptions =
    BirdRealtimeOptions.init(
        appKey:region:wsHost:authEndpoint:authHeaders:authorizer:memberAuthEndpoint:memberAuthorizer:
        activityTimeout:
        pongTimeout:allowInsecure:)

/// A client kept by an actor and handed between tasks.
actor Session {
    let bird: BirdRealtime
    private var tokens: [BindingToken] = []

    init(_ bird: BirdRealtime) { self.bird = bird }

    func listen(_ name: String, _ handler: @escaping @Sendable (Any?) -> Void) -> Channel {
        let channel = bird.subscribe(name)
        tokens.append(channel.bind("e", handler))
        return channel
    }

    func silence(_ channel: Channel) {
        for token in tokens { channel.unbind("e", token) }
        tokens = []
    }
}
