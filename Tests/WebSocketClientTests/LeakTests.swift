import SystemTLS
import Testing
@testable import SystemIO
@testable import WebSocketClient

/// What failed attempts leave behind: nothing. Counted in processes of their own, where nothing else opens sockets.
@Suite("Leaks", .timeLimit(.minutes(5)))
struct LeakTests {
    /// Runs an attempt `count` times; the first ones may open what is shared and stays.
    static func expectNothingLeft(_ count: Int = 200, _ attempt: () async throws -> Void) async throws {
        for _ in 0..<5 { try await attempt() }
        await rounds(3)
        let before = (ProcessCount.sockets, ProcessCount.ownThreads, ProcessCount.threads)
        for _ in 0..<count { try await attempt() }
        // The listener's ends are in this process too, and learn of each end a few turns of the loop later; a thread that
        // has looked a name up ends in its own time.
        for _ in 0..<20_000 where ProcessCount.sockets > before.0 || ProcessCount.ownThreads > before.1 {
            await rounds(1)
        }
        let after = (ProcessCount.sockets, ProcessCount.ownThreads, ProcessCount.threads)
        precondition(after.0 <= before.0, "\(before.0) sockets became \(after.0)")
        precondition(after.1 <= before.1, "\(before.1) threads of ours became \(after.1)")
        // The runtime's pools may grow by a few, not by one an attempt.
        precondition(after.2 < before.2 + count / 4, "\(before.2) threads became \(after.2)")
    }

    static func expectFailure(
        _ kind: WebSocketError.Kind, _ url: String, _ options: WebSocketOptions = .init()
    ) async {
        let error = await webSocketError { _ = try await WebSocket.connect(to: url, options: options) }
        precondition(error?.kind == kind, "\(error?.message ?? "no error")")
    }

    @Test("F4: 200 refused ports, failed lookups, and refusals with 403 leave no socket and no thread")
    func plain() async throws {
        await #expect(processExitsWith: .success) {
            let port = try ScriptedServer().port
            try await LeakTests.expectNothingLeft {
                await LeakTests.expectFailure(.transport, "ws://127.0.0.1:\(port)/")
            }

            var options = WebSocketOptions()
            // On the threads of lookups, as with the system's own.
            options.resolver = Resolver(
                threads: ResolverThreads(limit: 8) { host, _ in
                    .failure(.failed(host: host, reason: "Name or service not known", isTemporary: false))
                })
            let unresolvable = options
            try await LeakTests.expectNothingLeft {
                await LeakTests.expectFailure(.transport, "ws://nowhere.test/", unresolvable)
            }

            let listener = try await WebSocketListener.listen { _ in .refuse(status: 403, reason: "Forbidden")
            }
            try await LeakTests.expectNothingLeft {
                await LeakTests.expectFailure(.refused, "ws://127.0.0.1:\(listener.port)/")
            }
            listener.close()
        }
    }

    @Test("F4: 200 failed TLS handshakes, and as many cancelled ones, leave no socket and no thread")
    func secure() async throws {
        await #expect(processExitsWith: .success) {
            let identity = try LoopbackIdentity()
            var server = WebSocketListener.Options()
            server.identity = (identity.certificateChainPEM, identity.privateKeyPEM)
            let listener = try await WebSocketListener.listen(options: server) { _ in .accept(EchoHandler()) }
            var options = WebSocketOptions()
            options.tls.trust = .pem(try CertificateAuthority(name: "another").certificatePEM)
            let stranger = options
            try await LeakTests.expectNothingLeft {
                await LeakTests.expectFailure(.tls, "wss://127.0.0.1:\(listener.port)/", stranger)
            }
            listener.close()

            let silent = try ScriptedServer()
            try await LeakTests.expectNothingLeft {
                let connecting = Task {
                    try await WebSocket.connect(to: "wss://127.0.0.1:\(silent.port)/", options: stranger)
                }
                let peer = try await silent.acceptTCP()
                connecting.cancel()
                _ = await connecting.result
                _ = await peer.readToEnd()
                await peer.close()
            }
        }
    }

    @Test(
        "300 connections that echo and close leave no socket and no thread, over ws and wss",
        arguments: [false, true])
    func orderly(isSecure: Bool) async throws {
        await #expect(processExitsWith: .success) { [isSecure] in
            let identity = isSecure ? try LoopbackIdentity() : nil
            let listener = try await listenEcho(identity: identity)
            var options = WebSocketOptions()
            if let identity { options.tls.trust = .pem(identity.authorityPEM) }
            let url = "\(isSecure ? "wss" : "ws")://127.0.0.1:\(listener.port)/"
            weak var driver: WebSocketDriver?
            try await LeakTests.expectNothingLeft(300) {
                let socket = try await WebSocket.connect(to: url, options: options)
                driver = socket.handle.driver
                try await socket.send("hello")
                for try await _ in socket.messages { break }
                await socket.close()
                precondition(socket.closeInfo?.isClean == true)
            }
            await rounds(3)
            precondition(driver == nil, "a connection that has ended is kept")
        }
    }
}
