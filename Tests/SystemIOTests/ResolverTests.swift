import Glibc
import Testing

@testable import SystemIO

@Suite(.timeLimit(.minutes(2))) struct ResolverTests {
    /// A lookup whose answers come when the test says so.
    private final class Gate: Sendable {
        private let isOpen = Flag()
        let lookups = Log<String>()

        func lookup(_ host: String, _ port: UInt16) -> ResolverThreads.Answer {
            lookups.append(host)
            // A thread that blocks, as getaddrinfo does.
            while !isOpen.isSet { usleep(1000) }
            return .success([.loopback(port: port)])
        }
        func open() { isOpen.set() }
    }

    private func until(_ condition: () -> Bool) async throws {
        while !condition() { try await EventLoop.shared.sleep(until: .now.advanced(by: .milliseconds(1))) }
    }

    @Test("literals are answered without a thread")
    func literals() async throws {
        let threads = ResolverThreads(limit: 1) { _, _ in
            Issue.record("looked up")
            return .success([])
        }
        let resolver = Resolver(threads: threads)
        #expect(try await resolver.resolve("127.0.0.1", 80) == [.loopback(port: 80)])
        #expect(try await resolver.resolve("[::1]", 80) == [.loopback6(port: 80)])
        #expect(threads.threadCount == 0)
    }

    @Test("the system knows localhost, with the port")
    func localhost() async throws {
        let addresses = try await Resolver.system.resolve("localhost", 81)
        #expect(addresses.contains(.loopback(port: 81)) || addresses.contains(.loopback6(port: 81)))
        #expect(Set(addresses).count == addresses.count)
    }

    @Test(
        "a failed lookup names the host",
        arguments: ["", "a\0b", String(repeating: "x", count: 300)])
    func failure(host: String) async throws {
        do {
            _ = try await Resolver.system.resolve(host, 80)
            Issue.record("no error")
        } catch {
            guard case .failed(host, let reason, _) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(error.description == "look up \(host): \(reason)")
            #expect(!reason.isEmpty)
        }
    }

    @Test("G3: a cancelled caller returns at once though the lookup still runs")
    func cancelledWhileRunning() async throws {
        let gate = Gate()
        let resolver = Resolver(threads: ResolverThreads(limit: 2, lookup: gate.lookup))
        let task = Task { try await resolver.resolve("slow.test", 80) }
        try await until { gate.lookups.all == ["slow.test"] }
        task.cancel()
        await #expect(throws: ResolveError.cancelled(host: "slow.test")) { try await task.value }
        gate.open()
    }

    @Test("a caller that is cancelled already asks nobody")
    func cancelledBefore() async throws {
        let threads = ResolverThreads(limit: 2) { _, _ in
            Issue.record("looked up")
            return .success([])
        }
        let resolver = Resolver(threads: threads)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await resolver.resolve("slow.test", 80)
        }
        await #expect(throws: ResolveError.cancelled(host: "slow.test")) { try await task.value }
        #expect(threads.threadCount == 0)
    }

    @Test("threads are bounded, a cancelled request in the queue is dropped, idle threads end")
    func bounds() async throws {
        let gate = Gate()
        let threads = ResolverThreads(limit: 2, lookup: gate.lookup)
        let resolver = Resolver(threads: threads)
        let first = (0..<2).map { number in Task { try await resolver.resolve("h\(number).test", 80) } }
        try await until { gate.lookups.all.count == 2 }
        let queued = Task { try await resolver.resolve("queued.test", 80) }
        let dropped = Task { try await resolver.resolve("dropped.test", 80) }
        dropped.cancel()
        await #expect(throws: ResolveError.cancelled(host: "dropped.test")) { try await dropped.value }
        #expect(threads.threadCount == 2)
        #expect(gate.lookups.all.count == 2)
        gate.open()
        for task in first { #expect(try await task.value == [.loopback(port: 80)]) }
        #expect(try await queued.value == [.loopback(port: 80)])
        try await until { threads.threadCount == 0 }
        #expect(Set(gate.lookups.all) == ["h0.test", "h1.test", "queued.test"])
    }

    @Test("cancelling while the answer arrives resumes once, with either result")
    func cancellationRace() async throws {
        let threads = ResolverThreads(limit: 4) { _, port in .success([.loopback(port: port)]) }
        let resolver = Resolver(threads: threads)
        for _ in 0..<300 {
            let task = Task { try await resolver.resolve("fast.test", 80) }
            let canceller = Task.detached { task.cancel() }
            switch await task.result {
            case .success(let addresses): #expect(addresses == [.loopback(port: 80)])
            case .failure(let error): #expect(error as? ResolveError == .cancelled(host: "fast.test"))
            }
            await canceller.value
        }
        try await until { threads.threadCount == 0 }
    }

    @Test("a test gives its own resolver")
    func injected() async throws {
        let resolver = Resolver { (host, port) async throws(ResolveError) -> [SocketAddress] in
            guard host == "known.test" else {
                throw .failed(host: host, reason: "unknown", isTemporary: false)
            }
            return [.loopback(port: port)]
        }
        #expect(try await resolver.resolve("known.test", 5) == [.loopback(port: 5)])
        await #expect(throws: ResolveError.self) { try await resolver.resolve("other.test", 5) }
    }
}
