import RealtimeCore
import Testing

@testable import BirdRealtime

@Suite(.timeLimit(.minutes(2))) struct SigninTests {
    static let success =
        #"{"event":"bird:signin_success","data":{"member_data":"{\"member_id\":42,\"member_info\":{\"n\":1}}"}}"#
    static let watchlist =
        #"{"event":"bird_internal:watchlist_events","data":{"events":[{"name":"online","member_ids":["x",7]}]}}"#

    func bench() -> Bench {
        var options = BirdRealtimeOptions(appKey: "key", region: "us1")
        options.memberAuthorizer = { _ in MemberAuth(auth: "a", memberData: #"{"member_id":42}"#) }
        return Bench(options)
    }

    func waitForSignin(_ socket: ScriptedSockets.Socket) async {
        await until { socket.sent.contains { $0.contains("bird:signin") } }
    }

    @Test("signin returns the member; calls at the same time share one frame")
    func shared() async throws {
        let bench = bench()
        let socket = bench.connected()
        async let first = bench.bird.signin()
        async let second = bench.bird.signin()
        await waitForSignin(socket)
        socket.says(SigninTests.success)
        #expect(try await first.memberId == "42")
        // The second call may have come when the first was done.
        #expect(try await second.memberId == "42")
        #expect(bench.bird.signedInMember?.memberId == "42")
        #expect((bench.bird.signedInMember?.memberInfo as? [String: Any])?["n"] as? Int == 1)
        #expect(socket.sent.last?.contains("#server-to-user-42") == true)
        bench.bird.disconnect()
        #expect(bench.bird.signedInMember == nil)
    }

    @Test("Member events are the member's alone, and no protocol event surfaces there")
    func memberEvents() async throws {
        let bench = bench()
        let heard = Heard<String>()
        bench.bird.member.bind("note") { heard.append("note \(described($0))") }
        bench.bird.member.bindGlobal { name, _ in heard.append("* \(name)") }
        let socket = bench.connected()
        async let member = bench.bird.signin()
        await waitForSignin(socket)
        socket.says(SigninTests.success)
        _ = try await member
        socket.accepts("#server-to-user-42")
        socket.publishes("note", on: "#server-to-user-42", "1")
        socket.publishes("note", on: "#server-to-user-43", "2")
        socket.publishes("bird:thing", on: "#server-to-user-42", "3")
        bench.settle()
        #expect(heard.all == ["* note", "note 1"])
        #expect(bench.bird.channel("#server-to-user-42") == nil)
        bench.bird.member.unbindAll()
        socket.publishes("note", on: "#server-to-user-42", "4")
        bench.settle()
        #expect(heard.count == 2)
    }

    @Test("The watchlist that came with the sign-in is not lost to who binds after it, and comes once")
    func watchlist() async throws {
        let bench = bench()
        let socket = bench.connected()
        async let member = bench.bird.signin()
        await waitForSignin(socket)
        socket.says(SigninTests.success)
        socket.says(SigninTests.watchlist)
        _ = try await member
        bench.settle()
        let heard = Heard<String>()
        bench.bird.member.watchlist.bind("online") { heard.append("\(($0 as? [String]) ?? [])") }
        bench.bird.member.watchlist.bind("online") { heard.append("again \(($0 as? [String]) ?? [])") }
        bench.settle()
        #expect(heard.all == [#"["x", "7"]"#])
        socket.says(SigninTests.watchlist)
        bench.settle()
        #expect(heard.count == 3)
    }

    @Test("The authorizer's own error leaves signin with its type")
    func ownError() async {
        struct Mine: Error {}
        var options = BirdRealtimeOptions(appKey: "key", region: "us1")
        options.memberAuthorizer = { _ in throw Mine() }
        let bench = Bench(options)
        bench.connected()
        await #expect(throws: Mine.self) { try await bench.bird.signin() }
    }

    @Test("signin throws at once while disconnected or failed, on a drop, on an error and on cancellation")
    func failures() async {
        let bench = bench()
        bench.bird.disconnect()
        await #expect(throws: RealtimeError.self) { try await bench.bird.signin() }
        let socket = bench.connected()
        let bird = bench.bird
        let dropped = Task { try await bird.signin() }
        await waitForSignin(socket)
        socket.ends(1011)
        await #expect(throws: RealtimeError.self) { try await dropped.value }

        let next = bench.connected()
        let cancelled = Task { try await bird.signin() }
        await waitForSignin(next)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let error: any BirdRealtimeError = CancellationError()
        #expect(!error.message.isEmpty)
    }

    @Test("Signing in again after a reconnect happens by itself; its failure goes to onSigninError")
    func again() async throws {
        struct Mine: Error {}
        let calls = Heard<String>()
        var options = BirdRealtimeOptions(appKey: "key", region: "us1")
        options.memberAuthorizer = { id in
            calls.append(id)
            if id == "3.3" { throw Mine() }
            return MemberAuth(auth: "a", memberData: "{}")
        }
        let bench = Bench(options)
        let errors = Heard<String>()
        bench.bird.onSigninError { errors.append("\(type(of: $0))") }
        let socket = bench.connected("1.1")
        async let member = bench.bird.signin()
        await waitForSignin(socket)
        socket.says(SigninTests.success)
        _ = try await member
        socket.ends(1011)
        let second = bench.connected("2.2")
        await waitForSignin(second)
        second.says(SigninTests.success)
        #expect(bench.bird.signedInMember?.memberId == "42")
        second.ends(1011)
        bench.connected("3.3")
        await until { errors.count == 1 }
        #expect(errors.all == ["Mine"])
        #expect(calls.all == ["1.1", "2.2", "3.3"])
    }
}
