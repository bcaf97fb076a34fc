import BirdRealtime
import Foundation
import Testing

/// What the compiler alone proves, and values without a connection.
@Suite struct SurfaceTests {
    func isSendable<Value: Sendable>(_ type: Value.Type) -> Bool { true }

    @Test("The initialiser of the options has its eleven labels and its defaults")
    func options() {
        let options = makeOptions("k", "us1", nil, nil, [:], nil, nil, nil, 120, 30, false)
        #expect(options.appKey == "k" && options.region == "us1")
        var short = BirdRealtimeOptions(appKey: "k")
        #expect(short.activityTimeout == 120 && short.pongTimeout == 30 && !short.allowInsecure)
        #expect(short.authHeaders.isEmpty && short.authorizer == nil && short.memberAuthorizer == nil)
        short.appKey = "x"
        short.region = "eu1"
        short.wsHost = "h"
        short.authEndpoint = "https://a.test/auth"
        short.authHeaders["a"] = "b"
        short.authorizer = { channel, connection in ChannelAuth(auth: "\(channel)\(connection)") }
        short.memberAuthEndpoint = "https://a.test/member"
        short.memberAuthorizer = { connection in MemberAuth(auth: connection, memberData: "{}") }
        short.activityTimeout = 10
        short.pongTimeout = 5
        short.allowInsecure = true
        #expect(throws: Never.self) { try short.validate() }
    }

    @Test("Everything that crosses threads is Sendable")
    func sendable() {
        #expect(isSendable(BirdRealtime.self) && isSendable(BirdRealtimeOptions.self))
        #expect(isSendable(Channel.self) && isSendable(PrivateChannel.self))
        #expect(isSendable(PresenceChannel.self) && isSendable(EncryptedChannel.self))
        #expect(isSendable(MemberEvents.self) && isSendable(BindingToken.self))
        #expect(isSendable(Member.self) && isSendable(SignedInMember.self))
        #expect(isSendable(ChannelAuth.self) && isSendable(MemberAuth.self))
        #expect(isSendable(RealtimeError.self) && isSendable(RealtimeAuthError.self))
        #expect(isSendable(ConnectionState.self))
    }

    @Test("Values have the fields and initialisers that programs use")
    func values() {
        var auth = ChannelAuth(auth: "a", memberData: nil)
        auth.auth = "b"
        auth.memberData = "{}"
        var memberAuth = MemberAuth(auth: "a", memberData: "{}")
        memberAuth.auth = "b"
        memberAuth.memberData = "[]"
        let member = Member(memberId: "1", memberInfo: ["n": 1])
        #expect(member.id == "1" && (member.memberInfo as? [String: Any])?["n"] as? Int == 1)
        let signedIn = SignedInMember(memberId: "1", memberInfo: nil)
        #expect(signedIn.id == "1" && signedIn.memberInfo == nil)
        var error = RealtimeAuthError(endpoint: "e", status: 401, message: "m")
        error.status = 403
        error.endpoint = "f"
        error.message = "n"
        #expect(error.localizedDescription == "f 403: n")
        let own: any BirdRealtimeError = ShopError.closed
        #expect(own.message == "the shop is closed")
        #expect("\(ConnectionState.connected)" == "connected")
    }

    @Test("The names of the protocol")
    func names() {
        #expect(BirdProtocol.system == "bird:")
        #expect(BirdProtocol.internalPrefix == "bird_internal:")
        #expect(BirdProtocol.clientEventPrefix == "client-")
        #expect(BirdProtocol.Event.subscriptionSucceeded == "bird:subscription_succeeded")
        #expect(BirdProtocol.Event.subscriptionError == "bird:subscription_error")
        #expect(BirdProtocol.Event.connectionCount == "bird:connection_count")
        #expect(BirdProtocol.Event.memberAdded == "bird:member_added")
        #expect(BirdProtocol.Event.memberRemoved == "bird:member_removed")
        #expect(!BirdRealtime.version.isEmpty)
    }

    @Test("The bind family of channels and member events, with discarded and kept tokens")
    func binding() throws {
        var options = BirdRealtimeOptions(appKey: "k", region: "us1")
        options.autoConnect = false
        let bird = BirdRealtime(options: options)
        #expect(bird.appKey == "k")
        #expect(
            bird.connectionState == .initialized && bird.connectionId == nil && bird.signedInMember == nil)
        bird.subscribe("c")
        let channel: Channel = bird.subscribe("c")
        #expect("\(channel)" == "#c" && channel.id == "c" && channel.name == "c" && !channel.subscribed)
        let handler: @Sendable (Any?) -> Void = { _ in }
        let global: @Sendable (String, Any?) -> Void = { _, _ in }
        channel.bind("e", handler)
        channel.bind("e") { data in _ = data as? [String: Any] }
        channel.bindGlobal { name, data in _ = (name, data) }
        let token: BindingToken = channel.bind("e", handler)
        channel.unbind("e", token)
        channel.unbind("e")
        let globalToken = channel.bindGlobal(global)
        channel.unbindGlobal(globalToken)
        channel.unbindGlobal()
        channel.unbindAll()
        bird.member.bind("e", handler)
        bird.member.bindGlobal(global)
        let memberToken = bird.member.bind("e", handler)
        bird.member.unbind("e", memberToken)
        bird.member.unbindGlobal()
        bird.member.unbindAll()
        bird.member.watchlist.bind("online", handler)
        let privateChannel = bird.subscribe("private-a") as? PrivateChannel
        #expect(try privateChannel?.trigger("client-x", data: ["a": 1]) == false)
        try privateChannel?.trigger("client-x", data: nil)
        #expect(bird.subscribe("presence-a") is PrivateChannel)
        #expect((bird.subscribe("presence-a") as? PresenceChannel)?.members.keys.isEmpty == true)
        bird.unsubscribe("c")
        #expect(bird.channel("c") == nil)
    }
}
