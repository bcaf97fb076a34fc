import Glibc
import SystemTLS
import Testing
@testable import WebSocketClient

@Suite("Socket faults", .timeLimit(.minutes(3)))
struct SocketFaultTests {
    @Test("F1: writing to a peer that has gone raises no SIGPIPE, over ws and wss")
    func noSignal() async throws {
        // In a process of its own, where the signal does what it does by itself: it would end the process.
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            let identity = try CertificateAuthority.selfSigned(addresses: ["127.0.0.1"])
            for isSecure in [false, true] {
                for resets in [false, true] {
                    let server = try ScriptedServer(isSecure ? identity : nil)
                    let recorder = Recorder()
                    var options = WebSocketOptions()
                    options.tls.trust = .pem(identity.certificateChainPEM)
                    let handle = WebSocketHandle.connect(to: server.url, options: options, handler: recorder)
                    let peer = try await server.acceptUpgraded()
                    await recorder.wait(for: .opened)
                    if resets { await peer.reset() } else { await peer.close() }
                    for _ in 0..<20 {
                        handle.send("still there?")
                        await rounds(1)
                    }
                    handle.close()
                    let end = await recorder.end()
                    precondition(end?.error?.kind == .transport && end?.closeInfo.code == .abnormalClosure)
                }
            }
            let raised = await Signals.loopHasBrokenPipe()
            precondition(!raised && Signals.brokenPipeDisposition == 0)
        }
    }

    @Test("F1: a reset is told to who sends and who receives, in the system's words")
    func reset() async throws {
        let server = try ScriptedServer()
        async let connecting = WebSocket.connect(to: server.url)
        let peer = try await server.acceptUpgraded()
        let socket = try await connecting
        async let receiving = webSocketError { for try await _ in socket.messages {} }
        await peer.reset()
        let error = await receiving
        #expect(error?.kind == .transport)
        #expect(error?.message.contains("Connection reset by peer") == true)
        let sending = await webSocketError { try await socket.send("anybody?") }
        #expect(sending?.kind == .closed)
    }

    @Test("F3: signals that interrupt the loop's system calls break neither connecting nor traffic")
    func signals() async throws {
        await #expect(processExitsWith: .success) {
            let storm = Task { await Signals.storm() }
            let identity = try LoopbackIdentity()
            for isSecure in [false, true] {
                let listener = try await listenEcho(identity: isSecure ? identity : nil)
                var options = WebSocketOptions()
                options.tls.trust = .pem(identity.authorityPEM)
                options.connectTimeout = .seconds(120)
                let url = "\(isSecure ? "wss" : "ws")://127.0.0.1:\(listener.port)/"
                let large = [UInt8](repeating: 7, count: 1 << 20)
                var connections = 0
                // Until the storm has been felt: a machine that is busy may send few signals.
                while connections < 5 || Signals.handledCount < (isSecure ? 200 : 100) {
                    connections += 1
                    let socket = try await WebSocket.connect(to: url, options: options)
                    var messages = socket.messages.makeAsyncIterator()
                    for number in 0..<50 {
                        try await socket.send("message \(number)")
                        let echoed = try await messages.next()
                        precondition(echoed == .text("message \(number)"))
                    }
                    try await socket.send(large)
                    let echoed = try await messages.next()
                    precondition(echoed == .binary(large))
                    await socket.close()
                    precondition(socket.closeInfo?.isClean == true)
                }
                // Time limits hold.
                options.resolver = NetworkTests.neverResolves
                options.connectTimeout = .milliseconds(50)
                let late = options
                let error = await webSocketError {
                    _ = try await WebSocket.connect(to: "ws://a.test/", options: late)
                }
                precondition(error?.kind == .timeout)
            }
            storm.cancel()
            await storm.value
        }
    }
}
