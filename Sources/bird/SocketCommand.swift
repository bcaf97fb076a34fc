import Foundation
import WebSocketClient

/// `bird ws`: any WebSocket server.
struct SocketCommand: Command {
    static let specification = CommandSpecification(
        name: "ws",
        summary:
            "Connects to any WebSocket server: lines of stdin go out as text messages, messages come out as lines.",
        operands: "URL",
        options: [
            .value("--header", "'name: value'", "added to the upgrade request", repeats: true),
            .value("--subprotocol", "P", "offered, in the order given", repeats: true),
            .flag("--deflate", "offer permessage-deflate"),
            .value("--ca-file", "F", "trust the certificates of this PEM file"),
            .flag("--json", "one JSON object a line"),
        ],
        notes: """
            With --json: {"type":"open",...}, {"type":"text","data":"..."}, {"type":"binary","base64":"..."},
            {"type":"close","code":1000,"reason":"","clean":true}, {"type":"error","message":"...","status":403}.

            The end of stdin, Ctrl-C and SIGTERM close with 1000 and exit 0. So does a close by the server with 1000,
            1001 or no code; anything else exits 1.

            example: echo hello | bird ws wss://echo.example/
            """)

    private let url: String
    private var options = WebSocketOptions()
    private let asJSON: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        guard arguments.operands.count == 1 else { throw UsageError("one URL is wanted") }
        url = arguments.operands[0]
        for (name, value) in try arguments.headers("--header") { options.headers.append(name, value) }
        options.subprotocols = arguments.texts("--subprotocol")
        if arguments.has("--deflate") { options.deflate = DeflateOptions() }
        if let file = arguments.text("--ca-file") { options.tls.trust = .file(file) }
        asJSON = arguments.has("--json")
    }

    func run() async -> ExitCode {
        let connecting = Task { [url, options] in try await WebSocket.connect(to: url, options: options) }
        let signals = StopSignals { connecting.cancel() }
        let socket: WebSocket
        do {
            socket = try await connecting.value
        } catch is CancellationError {
            return .done
        } catch {
            show(error)
            let isMisuse = (error as? WebSocketError)?.kind == .misuse
            let isTimeout = (error as? WebSocketError)?.kind == .timeout
            return isMisuse ? .usage : isTimeout ? .timedOut : .failed
        }
        withExtendedLifetime(signals) {}
        return await talk(over: socket)
    }

    private func talk(over socket: WebSocket) async -> ExitCode {
        let signals = StopSignals { Task { await socket.close() } }
        defer { withExtendedLifetime(signals) {} }
        showOpen(socket.agreement)
        let sending = Task {
            for await line in StandardInput.lines() { try await socket.send(line) }
            await socket.close()
        }
        defer { sending.cancel() }
        do {
            for try await message in socket.messages { show(message) }
        } catch {
            show(error)
        }
        let end = await socket.closed()
        showClose(end.closeInfo)
        let isLocal = end.closeInfo.initiator == .local && end.closeInfo.isClean
        let isOrderly = [.normalClosure, .goingAway, .noStatusReceived].contains(end.closeInfo.code)
        return isLocal || isOrderly ? .done : .failed
    }

    private func showOpen(_ agreement: WebSocketAgreement) {
        guard asJSON else {
            Terminal.note("connected" + (agreement.subprotocol.map { ", subprotocol \($0)" } ?? ""))
            return
        }
        var line = JSONLine(type: "open")
        line.add("subprotocol", json: agreement.subprotocol.map(JSONLine.quoted) ?? "null")
        line.add("extensions", json: agreement.extensions.map(JSONLine.quoted) ?? "null")
        Terminal.print(line.finished())
    }

    private func show(_ message: WebSocket.Message) {
        switch message {
        case .text(let text):
            var line = JSONLine(type: "text")
            line.add("data", text)
            Terminal.print(asJSON ? line.finished() : text)
        case .binary(let bytes):
            let base64 = Data(bytes).base64EncodedString()
            var line = JSONLine(type: "binary")
            line.add("base64", base64)
            Terminal.print(asJSON ? line.finished() : "(binary, \(bytes.count) bytes) \(base64)")
        }
    }

    private func show(_ error: any Error) {
        let failure = error as? WebSocketError
        guard asJSON else {
            Terminal.note("bird ws: \(failure?.message ?? String(describing: error))")
            return
        }
        var line = JSONLine(type: "error")
        line.add("message", failure?.message ?? String(describing: error))
        if let status = failure?.refusal?.status { line.add("status", status) }
        Terminal.print(line.finished())
    }

    private func showClose(_ info: CloseInfo) {
        guard asJSON else {
            Terminal.note(
                "closed with \(info.code.rawValue)" + (info.reason.isEmpty ? "" : ": \(info.reason)"))
            return
        }
        var line = JSONLine(type: "close")
        line.add("code", Int(info.code.rawValue))
        line.add("reason", info.reason)
        line.add("clean", info.isClean)
        Terminal.print(line.finished())
    }
}
