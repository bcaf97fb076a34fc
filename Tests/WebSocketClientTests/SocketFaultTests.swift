import SystemTLS
import Testing
@testable import WebSocketClient

@Suite("Socket faults", .timeLimit(.minutes(3)))
struct SocketFaultTests {
    @Test("F1: writing to a peer that has gone raises no SIGPIPE, over ws and wss")
    func noSignal() async throws {
        // In a process of its own, where nothing has changed what the signal does: it would end the process.
        await #expect(processExitsWith: .success) {
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
                    precondition(end?.closeInfo.code == .abnormalClosure)
                }
            }
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
}
