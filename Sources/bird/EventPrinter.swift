import BirdRealtime
import Foundation

/// Writes what happens as JSON lines, or as lines for a person.
struct EventPrinter: Sendable {
    let asJSON: Bool

    /// How a command typed by hand went.
    struct Acknowledgement: Sendable {
        var command: String
        var channel: String?
        var sent: Bool?
        var error: String?
    }

    func state(_ previous: ConnectionState, _ current: ConnectionState, connectionID: String?) {
        var line = JSONLine(type: "state")
        line.add("previous", previous.rawValue)
        line.add("current", current.rawValue)
        if current == .connected, let connectionID { line.add("connection_id", connectionID) }
        let style: Style =
            switch current {
            case .connected: .green
            case .failed: .red
            case .unavailable: .yellow
            case .initialized, .connecting, .disconnected: .dim
            }
        let id = current == .connected ? connectionID.map { " as \($0)" } ?? "" : ""
        emit(line, "\(previous.rawValue) → " + style(current.rawValue) + id)
    }

    func event(channel: String, _ event: String, data: String) {
        var line = JSONLine(type: "event")
        line.add("channel", channel)
        line.add("event", event)
        line.add("data", json: data)
        emit(line, "\(Style.cyan(channel)) \(Style.bold(event)) \(data)")
    }

    func member(_ event: String, data: String) {
        var line = JSONLine(type: "member")
        line.add("event", event)
        line.add("data", json: data)
        emit(line, "\(Style.cyan("member")) \(Style.bold(event)) \(data)")
    }

    func watchlist(_ event: String, _ ids: [String]) {
        var line = JSONLine(type: "watchlist")
        line.add("event", event)
        line.add("member_ids", json: JSONLine.array(ids))
        emit(line, "\(Style.cyan("watchlist")) \(Style.bold(event)) \(ids.joined(separator: ", "))")
    }

    func error(code: Int?, _ message: String) {
        var line = JSONLine(type: "error")
        if let code { line.add("code", code) }
        line.add("message", message)
        emit(line, Style.red("error") + (code.map { " \($0)" } ?? "") + " \(message)")
    }

    func signin(_ id: String) {
        var line = JSONLine(type: "signin")
        line.add("member_id", id)
        emit(line, "signed in as \(Style.bold(id))")
    }

    func signinError(_ message: String) {
        var line = JSONLine(type: "signin_error")
        line.add("message", message)
        emit(line, "\(Style.red("signin failed")) \(message)")
    }

    func connectingIn(_ seconds: Double) {
        var line = JSONLine(type: "connecting_in")
        let rounded = (seconds * 1000).rounded() / 1000
        line.add("seconds", json: "\(rounded)")
        emit(line, Style.dim("next attempt in \(rounded) s"))
    }

    func acknowledge(_ acknowledgement: Acknowledgement) {
        var line = JSONLine(type: "ack")
        line.add("command", acknowledgement.command)
        if let channel = acknowledgement.channel { line.add("channel", channel) }
        if let sent = acknowledgement.sent { line.add("sent", sent) }
        if let error = acknowledgement.error { line.add("error", error) }
        let outcome =
            acknowledgement.error.map { Style.red($0) } ?? (acknowledgement.sent == false ? "not sent" : "ok")
        emit(line, Style.dim("> \(acknowledgement.command) \(acknowledgement.channel ?? "")") + " \(outcome)")
    }

    private func emit(_ line: JSONLine, _ text: @autoclosure () -> String) {
        let now = Date()
        if asJSON {
            Terminal.print(line.finished(at: now))
        } else {
            let clock = JSONLine.timestamp(now).dropFirst(11).prefix(12)
            Terminal.print("\(Style.dim(String(clock)))  \(text())")
        }
    }
}
