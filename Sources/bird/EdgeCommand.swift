import BirdRealtimeTestKit
import Foundation

/// `bird edge`: the loopback edge as a process of its own.
struct EdgeCommand: Command {
    static let specification = CommandSpecification(
        name: "edge",
        summary:
            "Runs the loopback edge: the service's dialect, an auth backend and a publish endpoint on 127.0.0.1.",
        operands: "",
        options: [
            .value("--port", "P", "the port of the service; 0, the default, lets the system choose"),
            .value("--auth-port", "Q", "the port of the auth backend and of publishing; 0 as above"),
            .value("--app-key", "K", "the app key clients use (loopback-key)"),
            .value("--app-secret", "S", "what signatures are made with (loopback-secret)"),
            .flag("--tls", "wss and https, with an authority made on the spot"),
            .value("--ca-out", "FILE", "write that authority's certificate here"),
            .value("--log", "FILE", "append every frame and request to this file"),
        ],
        notes: """
            Prints one JSON object when it is ready, with the ports, the endpoints and, over TLS, the authority:
              {"type":"edge","url":"ws://127.0.0.1:4100","auth_endpoint":"http://127.0.0.1:4101/bird/auth",...}
            and runs until Ctrl-C or SIGTERM.

            Commands on stdin: publish CHANNEL EVENT JSON; drop CODE [REASON], which closes every connection with a
            code; drop, which ends them without a close frame; reset, which sends RST.

            example: bird edge --port 4100 --auth-port 4101 --app-key demo --app-secret s3cret
            """)

    private let configuration: LoopbackEdge.Configuration
    private let authorityFile: String?
    private let logFile: String?

    init(_ arguments: Arguments) throws(UsageError) {
        var configuration = LoopbackEdge.Configuration()
        configuration.port = try arguments.port("--port") ?? 0
        configuration.authPort = try arguments.port("--auth-port") ?? 0
        if let key = arguments.text("--app-key") { configuration.appKey = key }
        if let secret = arguments.text("--app-secret") { configuration.appSecret = secret }
        configuration.isSecure = arguments.has("--tls")
        self.configuration = configuration
        authorityFile = arguments.text("--ca-out")
        logFile = arguments.text("--log")
        guard arguments.operands.isEmpty else {
            throw UsageError("'\(arguments.operands[0])' is not understood")
        }
        if authorityFile != nil, !configuration.isSecure { throw UsageError("--ca-out needs --tls") }
    }

    func run() async -> ExitCode {
        let edge = LoopbackEdge(configuration)
        let (stops, stop) = AsyncStream.makeStream(of: Void.self)
        let signals = StopSignals { stop.yield() }
        defer { withExtendedLifetime(signals) {} }
        do {
            let log = try logFile.map(LogFile.init)
            try await edge.start()
            if let authorityFile, let pem = edge.certificateAuthorityPEM {
                try pem.write(toFile: authorityFile, atomically: true, encoding: .utf8)
            }
            announce(edge)
            let writing = log.map { log in
                Task { for try await entry in edge.entries { log.write(String(describing: entry)) } }
            }
            let commands = Task { await EdgeConsole(edge).run() }
            for await _ in stops { break }
            commands.cancel()
            await edge.stop()
            _ = await writing?.result
            return .done
        } catch {
            Terminal.note("bird edge: \(error)")
            return .failed
        }
    }

    private func announce(_ edge: LoopbackEdge) {
        var line = JSONLine(type: "edge")
        line.add("url", edge.url)
        line.add("host", edge.wsHost)
        line.add("app_key", edge.appKey)
        line.add("auth_endpoint", edge.authEndpoint)
        line.add("member_auth_endpoint", edge.memberAuthEndpoint)
        line.add("publish_endpoint", edge.publishEndpoint)
        if let pem = edge.certificateAuthorityPEM { line.add("ca_pem", pem) }
        Terminal.print(line.finished())
    }
}

/// What can be done to a running edge from its stdin.
struct EdgeConsole: Sendable {
    private let edge: LoopbackEdge

    init(_ edge: LoopbackEdge) {
        self.edge = edge
    }

    func run() async {
        for await line in StandardInput.lines() {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            var answer = JSONLine(type: "ack")
            answer.add("command", words.first ?? "")
            switch words.first {
            case "drop" where words.count > 1:
                if let code = UInt16(words[1]) {
                    let reason = words.dropFirst(2).joined(separator: " ")
                    answer.add("connections", await edge.inject(.close(code: code, reason: reason)))
                } else {
                    answer.add("error", "'\(words[1])' is no close code")
                }
            case "drop": answer.add("connections", await edge.inject(.finish))
            case "publish" where words.count == 4:
                answer.add(
                    "receivers", await edge.publish(channel: words[1], event: words[2], data: words[3]))
            case "reset": answer.add("connections", await edge.inject(.reset))
            default:
                answer.add(
                    "error",
                    "not understood; there are: drop [CODE [REASON]], reset, publish CHANNEL EVENT JSON")
            }
            Terminal.print(answer.finished())
        }
    }
}

/// A file that lines are appended to, each whole.
struct LogFile: Sendable {
    private let handle: FileHandle

    init(_ path: String) throws {
        if !FileManager.default.fileExists(atPath: path) {
            guard FileManager.default.createFile(atPath: path, contents: nil) else {
                throw UsageError("--log \(path) cannot be written")
            }
        }
        handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.seekToEnd()
    }

    func write(_ line: String) {
        try? handle.write(contentsOf: Data("\(JSONLine.timestamp(Date())) \(line)\n".utf8))
    }
}
