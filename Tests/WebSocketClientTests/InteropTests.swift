import Foundation
import Testing
@testable import WebSocketClient

/// Against an implementation that shares no line with ours: Python's `websockets`, where WEBSOCKETS_PEER_PYTHON has one.
///
/// One at a time, and in a run of their own (scripts/test): their large messages keep the event loop busy for seconds where
/// nothing is optimized, which the deadlines of other tests would feel.
@Suite("Interoperability", .serialized, .timeLimit(.minutes(10)), .enabled(if: PythonPeer.python != nil))
struct InteropTests {
    @Test(
        "their server echoes text, binary, nothing and 64 MiB",
        arguments: [false, true], [false, true])
    func theirServer(isSecure: Bool, deflates: Bool) async throws {
        let identity = try LoopbackIdentity()
        let peer = try await PythonPeer(.server, identity: isSecure ? identity : nil, deflates: deflates)
        var options = WebSocketOptions()
        options.tls.trust = .pem(identity.authorityPEM)
        options.deflate = deflates ? DeflateOptions() : nil
        options.connectTimeout = .seconds(300)
        options.closeTimeout = .seconds(300)
        let url = "\(isSecure ? "wss" : "ws")://127.0.0.1:\(peer.port)/"
        let socket = try await WebSocket.connect(to: url, options: options)
        #expect((socket.agreement.extensions != nil) == deflates)
        var messages = socket.messages.makeAsyncIterator()
        // The whole 64 MiB that limits allow, once; compressing and encrypting as much takes long without optimization.
        let size = isSecure || deflates ? 4 << 20 : 64 << 20
        let large = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 7) }
        for message in [.text("grüße, 世界"), .text(""), .binary([0, 255, 1]), .binary(large)]
            as [WebSocket.Message]
        {
            switch message {
            case .text(let text): try await socket.send(text)
            case .binary(let bytes): try await socket.send(bytes)
            }
            let echoed = try await messages.next()
            #expect(echoed == message)
        }
        _ = try await socket.ping()
        await socket.close(code: CloseCode(rawValue: 4123), reason: "enough")
        let info = try #require(socket.closeInfo)
        #expect(info.isClean && info.code.rawValue == 4123 && info.initiator == .local)
    }

    @Test("their client talks to our server, and closes it", arguments: [false, true], [false, true])
    func theirClient(isSecure: Bool, deflates: Bool) async throws {
        let identity = try LoopbackIdentity()
        let listener = try await listenEcho(identity: isSecure ? identity : nil) { options in
            options.deflate = deflates ? DeflateOptions() : nil
        }
        defer { listener.close() }
        let url = "\(isSecure ? "wss" : "ws")://127.0.0.1:\(listener.port)/"
        let peer = try await PythonPeer(.client(url), identity: isSecure ? identity : nil, deflates: deflates)
        #expect(await peer.exitCode() == 0)
    }
}

/// One run of a Python program that says on its first line that it is ready.
final class PythonPeer: Sendable {
    enum Role {
        case server
        case client(String)
    }

    static let python = ProcessInfo.processInfo.environment["WEBSOCKETS_PEER_PYTHON"]

    private let process = Process()
    private let ended: AsyncStream<Int32>
    let port: Int

    init(_ role: Role, identity: LoopbackIdentity?, deflates: Bool) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "peer-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        var arguments = ["-c", Self.program, deflates ? "deflate" : "", ""]
        if case .client(let url) = role { arguments[3] = url }
        if let identity {
            for (name, text) in [
                ("chain", identity.certificateChainPEM), ("key", identity.privateKeyPEM),
                ("ca", identity.authorityPEM),
            ] {
                let file = directory.appendingPathComponent(name)
                try text.write(to: file, atomically: true, encoding: .utf8)
                arguments.append(file.path)
            }
        }
        process.executableURL = URL(fileURLWithPath: Self.python ?? "python3")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        let (ended, ending) = AsyncStream.makeStream(of: Int32.self)
        self.ended = ended
        process.terminationHandler = { process in
            ending.yield(process.terminationStatus)
            ending.finish()
        }
        try process.run()
        port = await withCheckedContinuation { continuation in
            // The read blocks, so it has a thread of its own.
            let descriptor = dup(output.fileHandleForReading.fileDescriptor)
            Thread {
                var line: UnsafeMutablePointer<CChar>?
                var capacity = 0
                guard let file = fdopen(descriptor, "r") else { return continuation.resume(returning: 0) }
                let count = getline(&line, &capacity, file)
                let text = count > 0 ? line.map { String(cString: $0) } ?? "" : ""
                free(line)
                fclose(file)
                continuation.resume(returning: Int(text.filter(\.isNumber)) ?? 0)
            }.start()
        }
        try #require(port > 0, "the peer did not begin")
    }

    deinit {
        if process.isRunning { process.terminate() }
    }

    func exitCode() async -> Int32 {
        for await status in ended { return status }
        return -1
    }

    private static let program = """
        asyncio, ssl, sys, websockets = map(__import__, ["asyncio", "ssl", "sys", "websockets"])
        compression = "deflate" if sys.argv[1] else None
        url, files = sys.argv[2], sys.argv[3:]
        limits = dict(max_size=None, compression=compression)

        async def echo(socket):
            async for message in socket:
                await socket.send(message)

        async def serve():
            context = None
            if files:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(files[0], files[1])
            async with websockets.serve(echo, "127.0.0.1", 0, ssl=context, **limits) as server:
                print(server.sockets[0].getsockname()[1], flush=True)
                await asyncio.get_running_loop().create_future()

        async def talk():
            context = ssl.create_default_context(cafile=files[2]) if files else None
            print(1, flush=True)
            async with websockets.connect(url, ssl=context, **limits) as socket:
                for message in ["grüße, 世界", "", b"\\\\x00\\\\xff", "x" * 1000, bytes(range(256)) * 40000]:
                    await socket.send(message)
                    assert await socket.recv() == message
                await (await socket.ping())
                await socket.close(4001, "enough")
                assert socket.close_code == 4001, socket.close_code

        asyncio.run(talk() if url else serve())
        """
}
