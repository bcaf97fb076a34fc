import Testing

@testable import RealtimeCore

@Suite("§10 Members") struct SigninTests {
    private let identity = SignedInIdentity(memberID: "7")
    private let memberFrame = ##"{"event":"bird:subscribe","data":{"channel":"#server-to-user-7"}}"##

    private func signedIn() -> Client {
        var client = Client.connected()
        client.signin(1)
        client.authorizeMember(client.memberRequests[0].tag)
        client.signinSuccess()
        return client
    }

    @Test("concurrent calls share one authorization, one frame and one result")
    func shared() {
        var client = Client()
        #expect(client.signin(1) == [])
        client.connect()
        client.establish(1)
        client.signin(2)
        #expect(client.memberRequests.map(\.connectionID) == ["1.1"])
        #expect(
            client.authorizeMember(client.memberRequests[0].tag).frames == [
                #"{"event":"bird:signin","data":{"auth":"key:sig","member_data":"{\"member_id\":7}"}}"#
            ])
        #expect(client.signin(3) == [])
        let actions = client.signinSuccess()
        #expect(actions.finishedWaiters == [1, 2, 3])
        #expect(actions.frames == [memberFrame])
        #expect(client.machine.identity == identity)
        #expect(client.signin(4) == [.signinFinished(WaiterID(rawValue: 4), .success(identity))])
        #expect(client.signinSuccess() == [])
    }

    @Test("an identity is dropped with its connection and signed in again on the next")
    func again() {
        var client = signedIn()
        #expect(client.end(code: 4200).contains(.identityChanged(nil)))
        #expect(client.machine.identity == nil)
        client.establish(2)
        #expect(client.memberRequests.map(\.connectionID) == ["1.1", "2.2"])
        #expect(client.authorizeMember(client.memberRequests[0].tag) == [])
        client.authorizeMember(client.memberRequests[1].tag)
        #expect(client.signinSuccess().contains(.identityChanged(identity)))
        client.disconnect()
        client.connect()
        client.establish(3)
        #expect(client.memberRequests.count == 3)
    }

    @Test("a re-signin that fails is a signin error, and disturbs no channel")
    func resigninFails() {
        var client = signedIn()
        client.subscribe("c")
        client.end(code: 4200)
        client.establish(2)
        client.ok("c")
        let failure = AuthorizationFailure(message: "expired", status: 401)
        let tag = client.memberRequests[1].tag
        #expect(
            client.perform { $0.memberAuthorized(tag, .failure(failure), into: &$1) } == [
                .signinError(.authorization(failure))
            ])
        #expect(client.isSubscribed("c"))
        client.signin(2)
        #expect(client.memberRequests.count == 3)
    }

    @Test("failed and disconnected throw at once")
    func atOnce() {
        var client = Client.connected()
        client.end(code: 4001)
        #expect(
            client.signin(1) == [.signinFinished(WaiterID(rawValue: 1), .failure(.notConnectable(.failed)))])
        client.disconnect()
        #expect(
            client.signin(2) == [
                .signinFinished(WaiterID(rawValue: 2), .failure(.notConnectable(.disconnected)))
            ])
    }

    @Test("an error while pending throws; a later success on this connection still sets the identity")
    func errorWhilePending() {
        var client = Client.connected()
        client.signin(1)
        client.authorizeMember(client.memberRequests[0].tag)
        let report = ErrorReport(code: 4009, message: "no")
        #expect(
            client.serverError(4009) == [
                .error(report), .signinFinished(WaiterID(rawValue: 1), .failure(.server(report))),
            ])
        #expect(client.signinSuccess().contains(.identityChanged(identity)))
        #expect(client.machine.identity == identity)
    }

    @Test("an error while the authorizer runs throws, and the signin goes on")
    func errorWhileAuthorizing() {
        var client = Client.connected()
        client.signin(1)
        #expect(client.serverError(4300).finishedWaiters == [1])
        #expect(client.authorizeMember(client.memberRequests[0].tag).frames.count == 1)
        #expect(client.signinSuccess().contains(.identityChanged(identity)))
    }

    @Test("an error with a channel is no signin failure")
    func channelError() {
        var client = Client.connected()
        client.signin(1)
        #expect(client.receive(#"{"event":"bird:error","channel":"c","data":{}}"#).finishedWaiters == [])
    }

    @Test("a drop while pending throws, and the next connection signs in by itself")
    func dropWhilePending() {
        var client = Client.connected()
        client.signin(1)
        let tag = client.memberRequests[0].tag
        let actions = client.end(code: 4200)
        #expect(actions.finishedWaiters == [1])
        #expect(actions.contains(.cancelAuthorization(tag)))
        client.establish(2)
        client.authorizeMember(client.memberRequests[1].tag)
        #expect(client.signinSuccess().finishedWaiters == [])
        #expect(client.machine.identity == identity)
    }

    @Test("a cancelled waiter finishes once, the others and the signin go on")
    func cancelled() {
        var client = Client.connected()
        client.signin(1)
        client.signin(2)
        let first = WaiterID(rawValue: 1)
        #expect(
            client.perform { $0.cancelSignin(first, into: &$1) } == [
                .signinFinished(first, .failure(.cancelled))
            ])
        #expect(client.perform { $0.cancelSignin(first, into: &$1) } == [])
        client.authorizeMember(client.memberRequests[0].tag)
        #expect(client.signinSuccess().finishedWaiters == [2])
    }

    @Test("a success without a member id fails the signin", arguments: ["{}", "x", #"{\"member_id\":\"\"}"#])
    func malformed(memberData: String) {
        var client = Client.connected()
        client.signin(1)
        client.authorizeMember(client.memberRequests[0].tag)
        #expect(client.signinSuccess(memberData).finishedWaiters == [1])
        #expect(client.machine.identity == nil)
    }

    @Test("a success that nobody asked for sets nothing")
    func unasked() {
        var client = Client.connected()
        #expect(client.signinSuccess() == [])
        #expect(client.machine.identity == nil)
    }

    @Test("bird.member gets the own application events only")
    func memberEvents() {
        var client = signedIn()
        client.receive(##"{"event":"hi","channel":"#server-to-user-7","data":1}"##)
        #expect(client.event?.recipient == .member)
        for (event, channel) in [
            ("hi", "#server-to-user-8"), ("bird_internal:subscription_succeeded", "#server-to-user-7"),
            ("bird:whatever", "#server-to-user-7"), ("bird_internal:x", "#server-to-user-7"),
        ] {
            #expect(client.receive(#"{"event":"\#(event)","channel":"\#(channel)","data":1}"#) == [])
            #expect(client.event == nil)
        }
        #expect(client.machine.channelID(named: "#server-to-user-7") == nil)
        client.end()
        client.connect()
        client.establish(2)
        client.receive(##"{"event":"hi","channel":"#server-to-user-7","data":1}"##)
        #expect(client.event == nil)
    }

    @Test("the watchlist is told and kept as a snapshot until the identity goes")
    func watchlist() {
        var client = signedIn()
        let message =
            #"{"event":"bird_internal:watchlist_events","data":"{\"events\":[{\"name\":\"online\",\"member_ids\":[\"a\",9007199254740993]},{\"name\":\"offline\",\"member_ids\":[\"b\"]}]}"}"#
        let events = [
            WatchlistEvent(name: "online", memberIDs: ["a", "9007199254740993"]),
            WatchlistEvent(name: "offline", memberIDs: ["b"]),
        ]
        #expect(client.receive(message) == [.watchlist(events)])
        #expect(
            client.machine.watchlistSnapshot == [
                WatchlistEvent(name: "online", memberIDs: ["9007199254740993", "a"]), events[1],
            ])
        client.end()
        #expect(client.machine.watchlistSnapshot == [])
    }
}
