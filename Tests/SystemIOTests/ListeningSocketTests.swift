import Glibc
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(2))) struct ListeningSocketTests {
    @Test("port 0 becomes a real port", arguments: [SocketAddress.loopback(), .loopback6()])
    func realPort(address: SocketAddress) throws {
        let listener = try ListeningSocket.bind(address)
        let port = try #require(listener.address.port)
        #expect(port != 0)
        #expect(listener.address == address.withPort(port))
        let nobody = try listener.accept() == nil
        #expect(nobody)
    }

    @Test("a port in use is an error that names it")
    func inUse() throws {
        let listener = try ListeningSocket.bind(.loopback())
        let expected = SystemError(errno: EADDRINUSE, operation: "listen on \(listener.address)")
        do {
            _ = try ListeningSocket.bind(listener.address)
            Issue.record("no error")
        } catch { #expect(error == expected) }
    }

    @Test("a unix socket, and a path that does not fit")
    func unix() async throws {
        let path = "/tmp/system-io-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        defer { unlink(path) }
        try await withLoop { loop in
            let listener = try ListeningSocket.bind(.unix(path: path))
            #expect(listener.address == .unix(path: path))
            let client = try await connectTCP(to: [.unix(path: path)], on: loop)
            let server = try await accept(listener, loop)
            try client.put("x")
            #expect(try server.get().text == "x")
        }
        let long = SocketAddress.unix(path: String(repeating: "x", count: 108))
        do {
            _ = try ListeningSocket.bind(long)
            Issue.record("no error")
        } catch { #expect(error.errno == ENAMETOOLONG) }
    }

    @Test("without free descriptors accepting says so and the connection goes on waiting")
    func exhaustion() async {
        await #expect(processExitsWith: .success) {
            try await withLoop { loop in
                let listener = try ListeningSocket.bind(.loopback())
                let client = try await connectTCP(to: [listener.address], on: loop)
                _ = try await loop.waitUntilReady(listener.rawValue, .read)
                var before = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
                // The lowest free number: with it as the limit nothing can be opened any more.
                let free = dup(client.rawValue)
                close(free)
                var none = rlimit(rlim_cur: rlim_t(free), rlim_max: before.rlim_max)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
                do throws(SystemError) {
                    _ = try listener.accept()
                    Issue.record("no error")
                } catch {
                    #expect(error.errno == EMFILE)
                    #expect(error.isExhaustion)
                }
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
                _ = try await accept(listener, loop)
            }
        }
    }
}
