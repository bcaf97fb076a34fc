import Foundation
import WebSocketClient

/// The client as a conformance suite's fuzzing server tests it: it runs every case the server has and echoes what comes.
@main
struct Testee {
    static let usage = """
        usage: websocket-testee --url ws://HOST:PORT [--ca-file F] [--agent NAME] [--parallel N]

        Runs every case of a fuzzing server, N at a time (default 4), and has it write its reports under NAME.
        """

    static func main() async {
        do {
            let plan = try Plan(Array(CommandLine.arguments.dropFirst()))
            try await plan.run()
        } catch {
            FileHandle.standardError.write(Data("websocket-testee: \(error)\n".utf8))
            exit(error is Plan.UsageError ? 2 : 1)
        }
    }
}

/// What to run against which server.
struct Plan: Sendable {
    struct UsageError: Error, CustomStringConvertible {
        let description: String
    }

    private var url = ""
    private var agent = "websocket-client"
    private var parallel = 4
    private var options = WebSocketOptions()

    init(_ words: [String]) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            guard let value = rest.popFirst() else {
                throw UsageError(description: "\(word) wants a value\n\(Testee.usage)")
            }
            switch word {
            case "--url": url = value.hasSuffix("/") ? String(value.dropLast()) : value
            case "--ca-file": options.tls.trust = .file(value)
            case "--agent": agent = value
            case "--parallel": parallel = max(Int(value) ?? 1, 1)
            default: throw UsageError(description: "there is no option \(word)\n\(Testee.usage)")
            }
        }
        guard !url.isEmpty else { throw UsageError(description: "--url is missing\n\(Testee.usage)") }
        options.deflate = DeflateOptions()
        // The suite sends small compressed messages and wants small compressed answers.
        options.deflate?.threshold = 0
        // A case that waits for us to close TCP should not wait for long.
        options.closeTimeout = .seconds(5)
    }

    func run() async throws {
        let count = try await caseCount()
        await withTaskGroup(of: Void.self) { group in
            for number in 1...max(count, 1) {
                if number > parallel { await group.next() }
                group.addTask { await runCase(number) }
            }
        }
        let reports = try await WebSocket.connect(to: "\(url)/updateReports?agent=\(agent)", options: options)
        _ = await reports.closed()
    }

    private func caseCount() async throws -> Int {
        let socket = try await WebSocket.connect(to: "\(url)/getCaseCount", options: options)
        for try await message in socket.messages {
            if case .text(let text) = message, let count = Int(text) { return count }
        }
        throw UsageError(description: "\(url) does not say how many cases it has; is it a fuzzing server?")
    }

    private func runCase(_ number: Int) async {
        await withCheckedContinuation { continuation in
            _ = WebSocketHandle.connect(
                to: "\(url)/runCase?case=\(number)&agent=\(agent)", options: options,
                handler: Echo { _ in continuation.resume() })
        }
    }
}
