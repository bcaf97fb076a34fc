import Glibc
import SystemIO
import SystemTLS
import Testing

/// How streams end: scenario G7 and RFC 8446 §6.1.
@Suite(.timeLimit(.minutes(2))) struct TLSEndTests {
    private static let versions = [TLSOptions.Version.tls12, .tls13]

    @Test("a bare FIN between records is a truncation, told behind the bytes before it", arguments: versions)
    func bareEnd(_ version: TLSOptions.Version) throws {
        var pair = try TLSPair.connected(version: version)
        try pair.server.put("last")
        pair.server.shutdownWrite()
        let bytes = try pair.client.readOnce().bytes
        #expect(text(bytes) == "last")
        let hasEnded = pair.client.hasEnded
        #expect(hasEnded)
        for _ in 0..<3 {
            let outcome = try pair.client.readOnce().outcome
            #expect(outcome == .end(isClean: false))
        }
        let error = #expect(throws: TLSError.self) { _ = try pair.client.writeOnce("more".utf8) }
        #expect(error?.message.contains("close_notify") == true)
    }

    @Test(
        "a FIN in the middle of a record is a truncation, and none of the record is handed out",
        arguments: versions)
    func cutRecord(_ version: TLSOptions.Version) throws {
        let parties = try Parties(version: version)
        var relay = try Relay(parties)
        try relay.connect()
        try relay.server.put("whole")
        _ = try relay.toClient()
        try relay.server.put("cut off in the middle")
        _ = try relay.toClient { Array($0.dropLast(3)) }
        relay.endToClient()
        let bytes = try relay.client.readOnce().bytes
        #expect(text(bytes) == "whole")
        let outcome = try relay.client.take().outcome
        #expect(outcome == .end(isClean: false))
    }

    @Test("close_notify and FIN are a clean end behind the last bytes", arguments: versions)
    func cleanEnd(_ version: TLSOptions.Version) throws {
        var pair = try TLSPair.connected(version: version)
        try pair.server.put("last")
        pair.server.shutdown()
        pair.server.shutdownWrite()
        let bytes = try pair.client.readOnce().bytes
        #expect(text(bytes) == "last")
        let hasEnded = pair.client.hasEnded
        #expect(hasEnded)
        for _ in 0..<3 {
            let outcome = try pair.client.readOnce().outcome
            #expect(outcome == .end(isClean: true))
        }
    }

    @Test("close_notify alone is a clean end of one direction: the other one goes on", arguments: versions)
    func halfClosed(_ version: TLSOptions.Version) throws {
        var pair = try TLSPair.connected(version: version)
        pair.server.shutdown()
        pair.server.shutdown()
        let outcome = try pair.client.take().outcome
        #expect(outcome == .end(isClean: true))
        try pair.client.put("still here")
        let heard = try pair.server.take(exactly: 10)
        #expect(text(heard) == "still here")
        pair.client.shutdown()
        let end = try pair.server.take().outcome
        #expect(end == .end(isClean: true))
    }

    @Test("an attacker's close_notify is no end: alerts are encrypted too")
    func forgedEnd() throws {
        var relay = try Relay(Parties(version: .tls12))
        try relay.connect()
        try relay.sendToClient([21, 3, 3, 0, 2, 1, 0])
        let error = #expect(throws: TLSError.self) { _ = try relay.client.take() }
        #expect(error?.kind == .connection)
    }

    @Test("a reset is an error of the transport", arguments: versions)
    func reset(_ version: TLSOptions.Version) throws {
        let pair = try TLSPair.connectedOverTCP(version: version)
        var client = pair.client
        let server = pair.server
        server.resetOnClose()
        _ = consume server
        let error = #expect(throws: TLSError.self) { _ = try client.take() }
        guard case .transport(let system) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(system.errno == ECONNRESET)
        #expect(system.operation.hasPrefix("read from "))
    }

    @Test(
        "garbage after the handshake breaks the connection, and every later call says why",
        arguments: versions)
    func garbage(_ version: TLSOptions.Version) throws {
        var relay = try Relay(Parties(version: version))
        try relay.connect()
        try relay.server.put("good")
        _ = try relay.toClient()
        try relay.sendToClient(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        let bytes = try relay.client.readOnce().bytes
        #expect(text(bytes) == "good")
        for _ in 0..<3 {
            let error = #expect(throws: TLSError.self) { _ = try relay.client.readOnce() }
            #expect(error?.kind == .connection)
            #expect(error?.message.contains("broke") == true)
        }
        #expect(throws: TLSError.self) { _ = try relay.client.writeOnce("x".utf8) }
        relay.client.shutdown()
    }

    @Test("a record that was changed on its way is refused", arguments: versions, [0, 4, 9] as [Int])
    func changedRecord(_ version: TLSOptions.Version, _ place: Int) throws {
        var relay = try Relay(Parties(version: version))
        try relay.connect()
        try relay.server.put("hello")
        _ = try relay.toClient { bytes in
            var bytes = bytes
            bytes[bytes.count - 1 - place] ^= 1
            return bytes
        }
        #expect(throws: TLSError.self) { _ = try relay.client.take() }
    }

    @Test("a stream that goes away closes its socket")
    func closes() throws {
        let parties = try Parties()
        var sockets = try SocketPair()
        let peer = sockets.takeSecond()
        do {
            var client = try TLSStream(client: parties.client, socket: sockets.takeFirst(), host: "a.test")
            _ = try client.handshake()
        }
        var outcome = try peer.take().outcome
        while case .bytes = outcome { outcome = try peer.take().outcome }
        #expect(outcome == .end(isClean: true))
    }
}
