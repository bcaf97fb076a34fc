import Foundation
import SystemIO
import SystemTLS
import Testing
@testable import WebSocketClient

/// What failed attempts leave behind: nothing. Counted in processes of their own, where nothing else opens sockets.
@Suite("Leaks", .timeLimit(.minutes(5)))
struct LeakTests {
    /// Sockets of this process.
    static func socketCount() -> Int {
        let directory = "/proc/self/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\(name)")
            return target?.hasPrefix("socket:") == true
        }
    }

    /// Runs an attempt that fails 200 times; the first ones may open what is shared and stays.
    static func expectNothingLeft(_ attempt: () async throws -> Void) async throws {
        for _ in 0..<5 { try await attempt() }
        await rounds(3)
        let before = socketCount()
        for _ in 0..<200 { try await attempt() }
        // The listener's ends are in this process too, and learn of each end a few turns of the loop later.
        for _ in 0..<2_000 where socketCount() > before { await rounds(1) }
        let after = socketCount()
        precondition(after <= before, "\(before) sockets became \(after)")
    }

    static func expectFailure(
        _ kind: WebSocketError.Kind, _ url: String, _ options: WebSocketOptions = .init()
    ) async {
        let error = await webSocketError { _ = try await WebSocket.connect(to: url, options: options) }
        precondition(error?.kind == kind, "\(error?.message ?? "no error")")
    }

    @Test("F4: 200 refused ports, failed lookups, and refusals with 403 leave no socket")
    func plain() async throws {
        await #expect(processExitsWith: .success) {
            let port = try ScriptedServer().port
            try await LeakTests.expectNothingLeft {
                await LeakTests.expectFailure(.transport, "ws://127.0.0.1:\(port)/")
            }

            var options = WebSocketOptions()
            options.resolver = Resolver { (host, _) async throws(ResolveError) -> [SocketAddress] in
                throw .failed(host: host, reason: "Name or service not known", isTemporary: false)
            }
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

    @Test("F4: 200 failed TLS handshakes, and as many cancelled ones, leave no socket")
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

    @Test("200 connections that echo and close leave no socket")
    func orderly() async throws {
        await #expect(processExitsWith: .success) {
            let listener = try await listenEcho()
            try await LeakTests.expectNothingLeft {
                let socket = try await WebSocket.connect(to: "ws://127.0.0.1:\(listener.port)/")
                try await socket.send("hello")
                for try await _ in socket.messages { break }
                await socket.close()
                precondition(socket.closeInfo?.isClean == true)
            }
        }
    }

    @Test("F3: signals that interrupt system calls break neither connecting nor traffic")
    func signals() async throws {
        await #expect(processExitsWith: .success) {
            // Without SA_RESTART every interrupted call returns EINTR.
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { _ in }
            sigaction(SIGUSR1, &action, nil)
            let storm = Thread {
                while !Thread.current.isCancelled { kill(getpid(), SIGUSR1) }
            }
            storm.start()
            let identity = try LoopbackIdentity()
            for isSecure in [false, true] {
                let listener = try await listenEcho(identity: isSecure ? identity : nil)
                var options = WebSocketOptions()
                options.tls.trust = .pem(identity.authorityPEM)
                options.connectTimeout = .seconds(120)
                let url = "\(isSecure ? "wss" : "ws")://127.0.0.1:\(listener.port)/"
                for _ in 0..<5 {
                    let socket = try await WebSocket.connect(to: url, options: options)
                    var messages = socket.messages.makeAsyncIterator()
                    for number in 0..<50 {
                        try await socket.send("message \(number)")
                        let echoed = try await messages.next()
                        precondition(echoed == .text("message \(number)"))
                    }
                    await socket.close()
                    precondition(socket.closeInfo?.isClean == true)
                }
            }
            storm.cancel()
        }
    }
}
