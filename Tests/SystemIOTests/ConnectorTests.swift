import Glibc
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(2))) struct ConnectorTests {
    /// A listener whose queue is full: the kernel drops every further SYN, as a black hole does.
    private struct BlackHole: ~Copyable {
        let listener: ListeningSocket
        private let occupant: TCPSocket
        var address: SocketAddress { listener.address }

        init(_ loop: EventLoop) async throws {
            let listener = try ListeningSocket.bind(.loopback(), backlog: 0)
            let occupant = try await connectTCP(to: [listener.address], on: loop)
            _ = try await loop.waitUntilReady(listener.rawValue, .read)  // now the queue is full
            self.listener = listener
            self.occupant = occupant
        }
    }

    @Test("connects to the address that listens")
    func connects() async throws {
        try await withLoop { loop in
            let listener = try ListeningSocket.bind(.loopback())
            let closed = try ClosedPort()
            let client = try await connectTCP(to: [closed.address, listener.address], on: loop)
            #expect(client.peerAddress == listener.address)
        }
    }

    @Test("no address is an error of its own")
    func noAddresses() async throws {
        try await withLoop { loop in
            do throws(ConnectError) {
                _ = try await connectTCP(to: [], on: loop)
                Issue.record("no error")
            } catch { #expect(error == .noAddresses) }
        }
    }

    @Test("a socket that has met itself is no connection")
    func selfConnect() throws {
        let port = try ClosedPort()
        // The kernel lets a socket connect to its own port, which an unlucky choice of our end's port comes to.
        var kernel = sockaddr_in()
        kernel.sin_family = sa_family_t(AF_INET)
        kernel.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        kernel.sin_port = (port.address.port ?? 0).bigEndian
        let result = withUnsafePointer(to: &kernel) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(port.descriptor.rawValue, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        #expect(result == 0)
        let socket = TCPSocket(owning: Descriptor(owning: dup(port.descriptor.rawValue)))
        do throws(SystemError) {
            _ = try socket.finishConnecting(to: port.address)
            Issue.record("no error")
        } catch {
            #expect(error == SystemError(errno: ECONNREFUSED, operation: "connect to \(port.address)"))
        }
    }

    @Test("when nobody answers the error names each address with its cause")
    func refused() async throws {
        try await withLoop { loop in
            let one = try ClosedPort()
            let two = try ClosedPort()
            let addresses = [one.address, .unix(path: "/nowhere/socket"), two.address]
            do throws(ConnectError) {
                _ = try await connectTCP(to: addresses, on: loop)
                Issue.record("no error")
            } catch {
                #expect(
                    error
                        == .failed([
                            SystemError(errno: ECONNREFUSED, operation: "connect to \(addresses[0])"),
                            SystemError(errno: ENOENT, operation: "connect to unix:/nowhere/socket"),
                            SystemError(errno: ECONNREFUSED, operation: "connect to \(addresses[2])"),
                        ]))
                #expect(error.description.contains("connect to \(addresses[2]): Connection refused"))
            }
        }
    }

    @Test("many addresses that fail at once do not deepen the stack")
    func manyFailures() async throws {
        try await withLoop { loop in
            let addresses = (0..<5_000).map { SocketAddress.unix(path: "/nowhere/\($0)") }
            do throws(ConnectError) {
                _ = try await connectTCP(to: addresses, on: loop)
                Issue.record("no error")
            } catch {
                guard case .failed(let errors) = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(errors.count == addresses.count)
            }
        }
    }

    @Test("G1: an address that swallows everything does not keep the next from answering")
    func blackHole() async throws {
        try await withLoop { loop in
            let hole = try await BlackHole(loop)
            let listener = try ListeningSocket.bind(.loopback())
            let client = try await connectTCP(to: [hole.address, listener.address], on: loop)
            #expect(client.peerAddress == listener.address)
        }
    }

    @Test("a connect that is under way ends when its task is cancelled", arguments: 0..<5)
    func cancelled(round: Int) async throws {
        try await withLoop { loop in
            let hole = try await BlackHole(loop)
            let address = hole.address
            let task = Task { _ = try await connectTCP(to: [address], on: loop) }
            for _ in 0..<round { await loop.run {} }
            task.cancel()
            await #expect(throws: ConnectError.cancelled) { try await task.value }
        }
    }

    @Test("cancelling while the connection comes about leaves one owner or none")
    func cancellationRace() async {
        await #expect(processExitsWith: .success) {
            try await withLoop { loop in
                let listener = try ListeningSocket.bind(.loopback())
                let address = listener.address
                let before = descriptorCount("socket:")
                for _ in 0..<300 {
                    let task = Task { _ = try await connectTCP(to: [address], on: loop) }
                    let canceller = Task.detached { task.cancel() }
                    _ = await task.result
                    await canceller.value
                    while try listener.accept() != nil {}
                }
                #expect(before > 0)
                #expect(descriptorCount("socket:") == before)
            }
        }
    }

    @Test("F4: a thousand refused connects leave no descriptor and no thread behind")
    func noLeaks() async {
        await #expect(processExitsWith: .success) {
            try await withLoop { loop in
                let closed = try ClosedPort()
                let address = closed.address
                _ = try? await connectTCP(to: [address], on: loop)
                let (descriptors, threads) = (descriptorCount("socket:"), threadCount())
                for _ in 0..<1000 {
                    do throws(ConnectError) {
                        _ = try await connectTCP(to: [address], on: loop)
                        Issue.record("connected")
                    } catch {
                        guard case .failed = error else {
                            Issue.record("\(error)")
                            return
                        }
                    }
                }
                #expect(descriptors > 0)
                #expect(descriptorCount("socket:") == descriptors)
                // The cooperative pool may have grown by the number of cores meanwhile.
                #expect(threadCount() < threads + 50)
            }
        }
    }

    @Test("F3: a storm of signals without SA_RESTART breaks nothing")
    func signalStorm() async {
        await #expect(processExitsWith: .success) {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { _ in }
            action.sa_flags = 0
            sigaction(SIGUSR1, &action, nil)
            await MainActor.run {
                // The kernel prefers the main thread, which is idle: the signals are for those that use the sockets.
                var mask = sigset_t()
                sigemptyset(&mask)
                sigaddset(&mask, SIGUSR1)
                pthread_sigmask(SIG_BLOCK, &mask, nil)
            }
            let isOver = Flag()
            try await withThrowingTaskGroup { group in
                group.addTask {
                    while !isOver.isSet {
                        kill(getpid(), SIGUSR1)
                        try await Task.sleep(for: .milliseconds(1))
                    }
                }
                try await withLoop { loop in
                    for _ in 0..<200 {
                        let listener = try ListeningSocket.bind(.loopback())
                        let client = try await connectTCP(to: [listener.address], on: loop)
                        let server = try await accept(listener, loop)
                        try client.put("ping")
                        _ = try await loop.waitUntilReady(server.rawValue, .read)
                        #expect(try server.get().text == "ping")
                        _ = try await Resolver.system.resolve("localhost", 80)
                        try await loop.sleep(until: .now.advanced(by: .microseconds(200)))
                    }
                }
                isOver.set()
                try await group.waitForAll()
            }
        }
    }
}
