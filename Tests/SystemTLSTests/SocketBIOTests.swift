import Glibc
import SystemIO
import SystemTLS
import Testing

/// A peer that has gone raises no signal; scenario F1.
@Suite(.timeLimit(.minutes(2))) struct SocketBIOTests {
    enum Departure: CaseIterable { case reset, close }

    @Test(
        "writing and closing towards a peer that has gone never raise SIGPIPE", arguments: Departure.allCases)
    func brokenPipe(_ departure: Departure) throws {
        let pair = try TLSPair.connectedOverTCP()
        var client = pair.client
        let server = pair.server
        if departure == .reset { server.resetOnClose() }
        _ = consume server

        let before = Self.disposition()
        let raised = try Self.raisesBrokenPipe {
            var failure: TLSError?
            // The first write after a FIN is taken and answered by a reset, which the next one meets.
            while failure == nil {
                do {
                    guard case .wouldBlock(let interest) = try client.writeOnce("hello".utf8) else {
                        continue
                    }
                    try waitUntilReady([(client.rawValue, interest)])
                } catch let error as TLSError { failure = error }
            }
            guard case .transport(let system) = failure?.kind else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(system.errno == EPIPE || system.errno == ECONNRESET)
            client.shutdown()
        }
        #expect(!raised)
        #expect(Self.disposition() == before)
    }

    @Test("close_notify towards a peer that has gone never raises SIGPIPE", arguments: Departure.allCases)
    func brokenPipeInShutdown(_ departure: Departure) throws {
        let pair = try TLSPair.connectedOverTCP()
        var client = pair.client
        let server = pair.server
        if departure == .reset { server.resetOnClose() }
        _ = consume server
        try waitUntilReady([(client.rawValue, .read)])
        // Our own end of sending: from here on every write is a broken pipe.
        client.shutdownWrite()
        let raised = try Self.raisesBrokenPipe {
            client.shutdown()
            #expect(throws: TLSError.self) { _ = try client.writeOnce("hello".utf8) }
            client.shutdown()
        }
        #expect(!raised)
    }

    @Test("the handshake's alert towards a peer that has gone never raises SIGPIPE")
    func brokenPipeInHandshake() throws {
        let parties = try Parties()
        var sockets = try SocketPair()
        let raised: Bool
        do {
            var client = try TLSStream(client: parties.client, socket: sockets.takeFirst(), host: "a.test")
            let peer = sockets.takeSecond()
            _ = try client.handshake()
            try peer.put(Array("this is no TLS".utf8))
            _ = consume peer
            raised = try Self.raisesBrokenPipe {
                #expect(throws: TLSError.self) { _ = try client.handshake() }
            }
        }
        #expect(!raised)
    }

    @Test("a broken pipe would have been seen")
    func control() throws {
        var sockets = try SocketPair()
        let socket = sockets.takeFirst()
        _ = consume sockets
        let raised = try Self.raisesBrokenPipe {
            _ = Glibc.write(socket.rawValue, "x", 1)
        }
        #expect(raised)
    }

    /// Whether `body` raises SIGPIPE, which the kernel sends to the very thread that writes. Blocked, it stays pending there.
    private static func raisesBrokenPipe(_ body: () throws -> Void) throws -> Bool {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        var before = sigset_t()
        try #require(pthread_sigmask(SIG_BLOCK, &signals, &before) == 0)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let result = Result { try body() }
        // Takes the pending signal away, if there is one, and does not wait.
        var none = timespec(tv_sec: 0, tv_nsec: 0)
        let taken = sigtimedwait(&signals, nil, &none)
        try result.get()
        return taken == SIGPIPE
    }

    private static func disposition() -> UInt {
        var action = sigaction()
        sigaction(SIGPIPE, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
    }
}
