import Foundation
import Glibc
import Testing
@testable import WebSocketClient

/// One run of a Python program that says on its first line that it is ready.
final class PythonPeer: Sendable {
    enum Role {
        case server
        case client(String)
    }

    static let python = ProcessInfo.processInfo.environment["WEBSOCKETS_PEER_PYTHON"]

    private let process = Process()
    private let ended: AsyncStream<Int32>
    /// The server's port.
    let port: Int

    /// Starts a peer, and ends it behind `body`, whatever that does.
    static func run(
        _ role: Role, identity: LoopbackIdentity?, deflates: Bool,
        _ body: (PythonPeer) async throws -> Void
    ) async throws {
        let peer = try await PythonPeer(role, identity: identity, deflates: deflates)
        defer { peer.kill() }
        try await body(peer)
    }

    private init(_ role: Role, identity: LoopbackIdentity?, deflates: Bool) async throws {
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
        // The peer ends with this pipe, should these tests end without telling it: one that stays would hold the test
        // run's output open, and with it whoever waits for the end of that.
        process.standardInput = Pipe()
        let output = Pipe()
        process.standardOutput = output
        let (ended, ending) = AsyncStream.makeStream(of: Int32.self)
        self.ended = ended
        process.terminationHandler = { process in
            ending.yield(process.terminationStatus)
            ending.finish()
        }
        try process.run()
        port = await Self.number(from: output)
        if port == 0 { kill() }
        try #require(port > 0, "the peer did not begin")
    }

    /// The number on the first line; 0 where there is none.
    private static func number(from pipe: Pipe) async -> Int {
        await withCheckedContinuation { continuation in
            // The read blocks, so it has a thread of its own.
            let descriptor = dup(pipe.fileHandleForReading.fileDescriptor)
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
    }

    /// Not SIGTERM: a child inherits the signal mask of the thread that starts it, and a thread of Dispatch blocks that.
    private func kill() {
        if process.isRunning { _ = Glibc.kill(process.processIdentifier, SIGKILL) }
    }

    func exitCode() async -> Int32 {
        for await status in ended { return status }
        return -1
    }

    private static let program = """
        import asyncio, os, ssl, sys, threading, websockets

        compression = "deflate" if sys.argv[1] else None
        url, files = sys.argv[2], sys.argv[3:]
        limits = dict(max_size=None, compression=compression)
        # The largest message that limits allow.
        large = bytes(range(256)) * (64 << 12)

        def end_with_parent():
            os.read(0, 1)
            os._exit(3)

        async def echo(socket):
            try:
                async for message in socket:
                    if message == "close, please":
                        await socket.close(4002, "as asked")
                    else:
                        await socket.send(message)
            except websockets.ConnectionClosed:
                pass

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
                for message in ["grüße, 世界", "", b"", bytes([0, 255]), "x" * 1000, large]:
                    await socket.send(message)
                    assert await socket.recv() == message
                await socket.send(["in ", "three ", "pieces"])
                assert await socket.recv() == "in three pieces"
                await (await socket.ping())
                await socket.close(4001, "enough")
                assert socket.close_code == 4001, socket.close_code
            async with websockets.connect(url, ssl=context, **limits) as socket:
                await socket.send("close, please")
                try:
                    await socket.recv()
                    assert False, "a message instead of the end"
                except websockets.ConnectionClosed as end:
                    assert (end.rcvd.code, end.rcvd.reason) == (4003, "as asked"), end

        threading.Thread(target=end_with_parent, daemon=True).start()
        asyncio.run(talk() if url else serve())
        """
}
