import Glibc
import SystemIO
import SystemTLS
import Testing

/// close_notify at awkward moments.
@Suite(.timeLimit(.minutes(2))) struct TLSShutdownTests {
    private static let versions = [TLSOptions.Version.tls12, .tls13]

    @Test(
        "close_notify is sent once, and a second call takes nothing of what the peer has sent",
        arguments: versions)
    func twice(_ version: TLSOptions.Version) throws {
        var pair = try TLSPair.connected(version: version)
        pair.server.shutdown()
        try pair.client.put("under way")
        pair.server.shutdown()
        let heard = try pair.server.take(exactly: 9)
        #expect(text(heard) == "under way")
        pair.client.shutdown()
        let (end, other) = (try pair.server.take().outcome, try pair.client.take().outcome)
        #expect(end == .end(isClean: true))
        #expect(other == .end(isClean: true))
    }

    @Test("close_notify behind a blocked write is no clean end for the peer", arguments: versions)
    func whileBlocked(_ version: TLSOptions.Version) throws {
        var pair = try TLSPair.connected(version: version)
        _ = try pair.client.fill([UInt8](repeating: 1, count: 16 << 20))
        pair.client.shutdown()
        pair.client.shutdownWrite()
        var outcome = ReadOutcome.bytes(0)
        while case .bytes = outcome { outcome = try pair.server.take().outcome }
        #expect(outcome == .end(isClean: false))
    }

    @Test("what a peer sent before it went is read even after a write has failed", arguments: versions)
    func readBehindFailedWrite(_ version: TLSOptions.Version) throws {
        let pair = try TLSPair.connected(version: version)
        var client = pair.client
        var server = pair.server
        try server.put("last words")
        server.shutdown()
        _ = consume server
        for _ in 0..<2 {
            let error = #expect(throws: TLSError.self) { _ = try client.writeOnce("x".utf8) }
            guard case .transport(let system) = error?.kind else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(system.errno == EPIPE)
        }
        let heard = try client.take(exactly: 10)
        #expect(text(heard) == "last words")
        let outcome = try client.take().outcome
        #expect(outcome == .end(isClean: true))
    }

    @Test("a reset stays the answer to every later call", arguments: versions)
    func reset(_ version: TLSOptions.Version) throws {
        let pair = try TLSPair.connectedOverTCP(version: version)
        var client = pair.client
        let server = pair.server
        server.resetOnClose()
        _ = consume server
        let first = #expect(throws: TLSError.self) { _ = try client.take() }
        for _ in 0..<3 {
            let again = #expect(throws: TLSError.self) { _ = try client.readOnce() }
            #expect(again == first)
            let write = #expect(throws: TLSError.self) { _ = try client.writeOnce("x".utf8) }
            #expect(write == first)
            let handshake = #expect(throws: TLSError.self) { _ = try client.handshake() }
            #expect(handshake == first)
        }
        client.shutdown()
    }
}
