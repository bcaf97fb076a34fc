import Testing

@testable import RealtimeCore

@Suite("§11 Encrypted channels") struct EncryptedChannelTests {
    private let secret = String(repeating: "A", count: 43) + "="
    private let name = "private-encrypted-a"

    @Test("§11 without a decryptor an encrypted channel fails loudly and gives out no ciphertext")
    func encrypted() {
        var client = Client.connected()
        let actions = client.subscribe("private-encrypted-a")
        #expect(actions.channelFailures.count == 1)
        #expect(actions.channelFailures.first?.error.contains("encryption product") == true)
        #expect(actions.count == 1)
        #expect(client.ok("private-encrypted-a") == [])
        client.receive(#"{"event":"x","channel":"private-encrypted-a","data":{"nonce":"","ciphertext":""}}"#)
        #expect(client.event == nil)
        #expect(client.subscribe("private-encrypted-a").channelFailures.count == 1)
    }

    private func answer(_ client: inout Client, secret: String?) -> [Action] {
        guard let tag = client.requests.last?.tag else { return [] }
        return client.perform {
            $0.channelAuthorized(
                tag, .success(ChannelAuthorization(auth: "k:s", sharedSecret: secret)), into: &$1)
        }
    }

    @Test(
        "no secret or a malformed one: the subscription fails and says so",
        arguments: [nil, "", "short", "!!!"])
    func secretFaults(secret: String?) {
        var client = Client.connected { $0.decryptsChannels = true }
        client.subscribe(name)
        let actions = answer(&client, secret: secret)
        #expect(actions.count == 1)
        #expect(actions.channelFailures.first?.error.contains("shared_secret") == true)
    }

    @Test("with a decryptor the secret comes before the subscribe frame")
    func secretFirst() {
        var client = Client.connected { $0.decryptsChannels = true }
        client.subscribe(name)
        let actions = answer(&client, secret: secret)
        #expect(actions.first == .sharedSecret(client.id(name), secret))
        #expect(actions.frames.count == 1)
        #expect(client.ok(name).successes == 1)
        client.receive(#"{"event":"x","channel":"private-encrypted-a","data":{}}"#)
        #expect(client.event != nil)
    }

    private func renew(_ client: inout Client) -> Bool {
        let (id, now) = (client.id(name), client.now)
        var isComing = false
        client.perform { isComing = $0.renewSecret(of: id, at: now, into: &$1) }
        return isComing
    }

    @Test("a flood of events that do not open: one renewal in flight, and one per ten seconds")
    func renewals() {
        var client = Client.connected { $0.decryptsChannels = true }
        client.subscribe(name)
        _ = answer(&client, secret: secret)
        client.ok(name)
        for _ in 0..<100 { #expect(renew(&client)) }
        #expect(client.requests.count == 2)
        #expect(answer(&client, secret: secret) == [.sharedSecret(client.id(name), secret)])
        #expect(!renew(&client))
        client.now = client.now + .seconds(10)
        #expect(renew(&client))
        #expect(client.requests.count == 3)
        let tag = client.requests[2].tag
        #expect(client.unsubscribe(name).contains(.cancelAuthorization(tag)))
        #expect(answer(&client, secret: secret) == [])
    }

    @Test("a renewal does not outlive its connection")
    func renewalOfOldConnection() {
        var client = Client.connected { $0.decryptsChannels = true }
        client.subscribe(name)
        _ = answer(&client, secret: secret)
        client.ok(name)
        #expect(renew(&client))
        let tag = client.requests[1].tag
        #expect(client.end(code: 4200).contains(.cancelAuthorization(tag)))
        #expect(answer(&client, secret: secret) == [])
        client.establish(2)
        #expect(answer(&client, secret: secret).frames.count == 1)
    }
}
