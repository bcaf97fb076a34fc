import RealtimeCore
import Testing

@testable import BirdRealtimeTestKit

@Suite("The auth backend")
struct AuthBackendTests {
    private let backend = AuthBackend(
        signature: EdgeSignature(appKey: "key") { "sig(\($0))" },
        forgedSignature: EdgeSignature(appKey: "key") { "forged(\($0))" },
        member: {
            LoopbackEdge.Member(id: $0.header("X-Member-ID") ?? "m", info: #"{"n":1}"#, watchlist: ["w"])
        },
        sharedSecret: { "secret of \($0)" })

    private func request(
        _ body: String, path: String = "/bird/auth", method: String = "POST",
        headers: [(name: String, value: String)] = [("content-type", "application/json; charset=utf-8")]
    ) throws -> LoopbackEdge.AuthRequest {
        let task = AuthBackend.task(
            of: HTTPRequest(method: method, target: path, headers: headers, body: Array(body.utf8)))
        guard case .authorize(let request) = task else { throw UnexpectedTask() }
        return request
    }

    private struct UnexpectedTask: Error {}

    private func answer(_ channel: String, headers: [(name: String, value: String)] = []) throws -> JSONValue?
    {
        let body = #"{"connection_id":"1.1","channel_name":"\#(channel)"}"#
        let json = [(name: "Content-Type", value: "application/json")]
        let answer = backend.answer(to: try request(body, headers: json + headers))
        #expect(answer.status == 200)
        return JSONValue(parsing: Array(answer.body.utf8))
    }

    @Test("a private channel gets a signature and nothing else")
    func privateChannel() throws {
        let value = try answer("private-a")
        #expect(value?["auth"]?.string == "key:sig(1.1:private-a)")
        #expect(value?.members?.count == 1)
    }

    @Test("a presence channel gets the member that the request's headers name, signed as it is sent")
    func presenceChannel() throws {
        let value = try answer("presence-a", headers: [("x-member-id", "ada")])
        let data = try #require(value?["member_data"]?.string)
        #expect(data == #"{"member_id":"ada","member_info":{"n":1}}"#)
        #expect(value?["auth"]?.string == "key:sig(1.1:presence-a:\(data))")
    }

    @Test("an encrypted channel gets the shared secret")
    func encryptedChannel() throws {
        let value = try answer("private-encrypted-a")
        #expect(value?["shared_secret"]?.string == "secret of private-encrypted-a")
        #expect(value?["auth"]?.string == "key:sig(1.1:private-encrypted-a)")
    }

    @Test("a sign-in gets the member with its watchlist")
    func signin() throws {
        let answer = backend.answer(to: try request(#"{"connection_id":"1.1"}"#, path: "/bird/auth/member"))
        let value = JSONValue(parsing: Array(answer.body.utf8))
        let data = #"{"member_id":"m","member_info":{"n":1},"watchlist":["w"]}"#
        #expect(value?["member_data"]?.string == data)
        #expect(value?["auth"]?.string == "key:sig(1.1::member::\(data))")
    }

    @Test("a forged answer is signed with another secret")
    func forged() throws {
        let body = #"{"connection_id":"1.1","channel_name":"private-a"}"#
        let answer = backend.answer(to: try request(body), forged: true)
        #expect(answer.body == #"{"auth":"key:forged(1.1:private-a)"}"#)
    }

    @Test("a request that is not one of the client's is refused")
    func refused() throws {
        let good = #"{"connection_id":"1.1","channel_name":"private-a"}"#
        #expect(backend.answer(to: try request(good, method: "GET")).status == 405)
        #expect(backend.answer(to: try request(good, headers: [])).status == 415)
        #expect(backend.answer(to: try request("{}")).status == 400)
        #expect(backend.answer(to: try request("no json")).status == 400)
        #expect(backend.answer(to: try request(#"{"connection_id":"1.1"}"#)).status == 400)
        #expect(
            backend.answer(to: try request(#"{"connection_id":"1.1","channel_name":"news"}"#)).status == 403)
        guard
            case .refuse(let answer) = AuthBackend.task(of: HTTPRequest(method: "GET", target: "/elsewhere"))
        else { throw UnexpectedTask() }
        #expect(answer.status == 404)
    }

    @Test("a publication names a channel or a member, an event and data as a value or as text")
    func publication() throws {
        func publication(_ body: String) throws -> AuthBackend.Publication {
            let task = AuthBackend.task(
                of: HTTPRequest(method: "POST", target: "/publish", body: Array(body.utf8)))
            guard case .publish(let publication) = task else { throw UnexpectedTask() }
            return publication
        }
        #expect(
            try publication(#"{"channel":"c","event":"e","data":{"a":[1, 2]},"connection_id":"1.1"}"#)
                == AuthBackend.Publication(
                    receiver: .channel("c"), event: "e", data: #"{"a":[1, 2]}"#, exceptConnectionID: "1.1"))
        #expect(
            try publication(#"{"member":7,"event":"e","data":"{\"a\":1}"}"#)
                == AuthBackend.Publication(receiver: .member("7"), event: "e", data: #"{"a":1}"#))
        #expect(throws: UnexpectedTask.self) { _ = try publication(#"{"event":"e"}"#) }
    }
}
