import Glibc
import Synchronization
import SystemTLS
import Testing

@testable import SystemIO

/// What TLS does to the process it runs in, each looked at in a process of its own.
@Suite(.timeLimit(.minutes(2))) struct ProcessTests {
    @Test("a process that leaves SIGPIPE alone outlives peers that reset or close; scenario F1")
    func brokenPipes() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            for (isReset, version) in [
                (true, TLSOptions.Version.tls12), (true, .tls13), (false, .tls12), (false, .tls13),
            ] {
                let pair = try TLSPair.connectedOverTCP(version: version)
                var client = pair.client
                let server = pair.server
                if isReset { server.resetOnClose() }
                _ = consume server
                try waitUntilReady([(client.rawValue, .read)])
                // From here on every write is a broken pipe, and not only from the second one on.
                client.shutdownWrite()
                client.shutdown()
                let error = #expect(throws: TLSError.self) {
                    _ = try client.writeOnce("hello".utf8)
                    _ = try client.writeOnce("hello".utf8)
                }
                #expect(error != nil)
                client.shutdown()
            }
        }
    }

    @Test("200 streams leave no sockets behind: done, refused, cut off and never begun")
    func descriptors() async {
        await #expect(processExitsWith: .success) {
            let (good, bad) = try (Parties(), Parties(names: ["b.test"]))
            let before = try ProcessTests.openSockets()
            for round in 0..<200 { try ProcessTests.use(good, bad, round) }
            let after = try ProcessTests.openSockets()
            #expect(after == before)
        }
    }

    private static func use(_ good: Parties, _ bad: Parties, _ round: Int) throws {
        let isGood = round.isMultiple(of: 2)
        let parties = isGood ? good : bad
        var pair = try TLSPair(parties.client, parties.server)
        switch round % 8 {
        case 6: return
        case 4: _ = try pair.client.handshake()
        default:
            let failures = try pair.shakeHands()
            #expect((failures.client == nil) == isGood)
            if round % 8 == 2 { pair.client.resetOnClose() } else { pair.client.shutdown() }
        }
        var sockets = try SocketPair()
        #expect(throws: TLSError.self) {
            _ = try TLSStream(client: parties.client, socket: sockets.takeFirst(), host: "")
        }
    }

    private static func openSockets() throws -> Int {
        guard let directory = opendir("/proc/self/fd") else {
            throw SystemError(errno: errno, operation: "open /proc/self/fd")
        }
        defer { closedir(directory) }
        var count = 0
        var link = stat()
        while let entry = readdir(directory) {
            let number = withUnsafePointer(to: &entry.pointee.d_name) { name in
                // The name is a number, or a dot: atoi stops at what is none, and the name ends by a zero.
                name.withMemoryRebound(to: CChar.self, capacity: 256) { atoi($0) }
            }
            if fstat(number, &link) == 0, link.st_mode & S_IFMT == S_IFSOCK { count += 1 }
        }
        return count
    }

    @Test("a process may exit while threads are in the middle of TLS")
    func exitWhileBusy() async {
        await #expect(processExitsWith: .success) {
            // Registered before OpenSSL can register anything, so called last: whatever happens at exit has happened.
            atexit {
                let target = turns.load(ordering: .relaxed) + 40
                while turns.load(ordering: .relaxed) < target { sched_yield() }
            }
            let parties = try Parties()
            let (client, server) = (parties.client, parties.server)
            for number in 0..<3 {
                _ = try SystemThread(name: "busy \(number)", isDetached: true) {
                    while true {
                        guard randomBytes(32).count == 32, hmacSHA256(key: [1], [2]).count == 32,
                            (try? CertificateAuthority.selfSigned(names: ["a.test"])) != nil,
                            var pair = try? TLSPair(client, server),
                            (try? pair.connect()) != nil
                        else { abort() }
                        turns.add(1, ordering: .relaxed)
                    }
                }
            }
            while turns.load(ordering: .relaxed) < 3 { sched_yield() }
            exit(EXIT_SUCCESS)
        }
    }
}

/// How often the threads of `exitWhileBusy` have gone round. A handler of atexit can capture nothing.
private let turns = Atomic(0)
