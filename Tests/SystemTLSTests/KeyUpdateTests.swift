import Glibc
import SystemIO
import SystemTLS
import Testing

/// Fresh keys (RFC 8446 §4.6.3) while the socket takes no more: one direction then waits for the other.
@Suite(.timeLimit(.minutes(2))) struct KeyUpdateTests {
    @Test("keys that the peer renews while a write is blocked change nothing that arrives")
    func whileBlocked() throws {
        var pair = try TLSPair.connected(version: .tls13)
        var random = SplitMix(seed: 11)
        let bytes = random.bytes(16 << 20)
        var done = try pair.client.fill(bytes)
        let committed = pair.client.committedByteCount
        #expect(committed > 0)
        // The client has to renew its own keys in answer, behind the record that waits.
        let isAsked = pair.server.updateKeys()
        #expect(isAsked)
        try pair.server.put("renewed")
        let heard = try pair.client.take(exactly: 7)
        #expect(text(heard) == "renewed")
        let stillCommitted = pair.client.committedByteCount
        #expect(stillCommitted == committed)

        let total = done + 200_000
        var received: [UInt8] = []
        var isStuck = false
        while received.count < total {
            let before = received.count + done
            received += try pair.server.readOnce().bytes
            // On a socket pair one side or the other can always go on.
            defer { if received.count + done == before { isStuck = true } }
            try #require(!isStuck)
            guard done < total else { continue }
            let size = max(pair.client.committedByteCount, 3000)
            if case .bytes(let count) = try pair.client.writeOnce(bytes[done..<min(done + size, total)]) {
                done += count
            }
        }
        let isSame = received == Array(bytes[..<total])
        #expect(isSame)
    }

    @Test("a key update that the socket does not take makes reading and writing wait for it to take more")
    func blocked() throws {
        var pair = try TLSPair.connected(version: .tls13)
        // Behind TLS's back, so that no record of the client waits.
        let chunk = [UInt8](repeating: 0, count: 4096)
        var junk = 0
        while case let count = send(pair.client.rawValue, chunk, 1, Int32(MSG_NOSIGNAL)), count > 0 {
            junk += count
        }
        let isAsked = pair.client.updateKeys()
        #expect(isAsked)
        let write = try pair.client.writeOnce("first".utf8)
        #expect(write == .wouldBlock(.write))
        let committed = pair.client.committedByteCount
        #expect(committed == 0)
        let read = try pair.client.readOnce().outcome
        #expect(read == .wouldBlock(.write))

        var sink = chunk
        while junk > 0 {
            let count = recv(pair.server.rawValue, &sink, min(junk, sink.count), 0)
            try #require(count > 0)
            junk -= count
        }
        // Nothing of the first try was taken: other bytes may go instead.
        try pair.client.put("second")
        let heard = try pair.server.take(exactly: 6)
        #expect(text(heard) == "second")
        try pair.server.put("answer")
        let answer = try pair.client.take(exactly: 6)
        #expect(text(answer) == "answer")
    }
}
