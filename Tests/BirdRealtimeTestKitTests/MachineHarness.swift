import RealtimeCore
import Testing

@testable import BirdRealtimeTestKit

/// A machine whose signatures can be read, and what it said to whom.
struct MachineHarness {
    var machine: EdgeMachine

    init(encodesDataAsString: Bool = false, sendsConnectionCount: Bool = false) {
        machine = EdgeMachine(
            EdgeMachine.Options(
                signature: EdgeSignature(appKey: "key") { "sig(\($0))" },
                encodesDataAsString: encodesDataAsString, sendsConnectionCount: sendsConnectionCount))
    }

    mutating func open(_ connections: Int...) {
        for connection in connections {
            _ = machine.opened(connection, target: AppTarget("/app/key?protocol=7"))
        }
    }

    mutating func receive(_ text: String, from connection: Int = 1) -> [EdgeMachine.Action] {
        machine.received(Array(text.utf8), from: connection)
    }

    /// Subscribes with the right signature.
    @discardableResult
    mutating func subscribe(_ channel: String, _ connection: Int, memberData: String? = nil)
        -> [EdgeMachine.Action]
    {
        let text = EdgeSignature.text(
            connectionID: "\(connection).\(connection)", channel: channel, memberData: memberData)
        let auth = ChannelFamily(name: channel).needsAuthorization ? "key:sig(\(text))" : nil
        return receive(
            String(
                decoding: FrameEncoder.subscribe(channel: channel, auth: auth, memberData: memberData),
                as: UTF8.self), from: connection)
    }

    @discardableResult
    mutating func signin(_ memberData: String, _ connection: Int) -> [EdgeMachine.Action] {
        let auth = "key:sig(\(connection).\(connection)::member::\(memberData))"
        return receive(
            JSONText.object([
                ("event", #""bird:signin""#),
                (
                    "data",
                    JSONText.object([
                        ("auth", JSONText.string(auth)), ("member_data", JSONText.string(memberData)),
                    ])
                ),
            ]), from: connection)
    }

    mutating func unsubscribe(_ channel: String, _ connection: Int) -> [EdgeMachine.Action] {
        receive(String(decoding: FrameEncoder.unsubscribe(channel: channel), as: UTF8.self), from: connection)
    }
}

extension [EdgeMachine.Action] {
    /// The code of a refusal: a violation for the log and the `bird:error` that says so, and nothing else.
    var refusalCode: Int? {
        guard count == 2, case .violation(let code, let message, let connection) = self[0],
            self[1] == .send(EdgeFrame.error(code: code, message: message), to: connection)
        else { return nil }
        return code
    }

    /// What was sent to whom, as `connection event data`.
    var lines: [String] {
        map { action in
            guard case .send(let text, let connection) = action else { return "\(action)" }
            let message = LoopbackEdge.Message(connection: connection, direction: .sent, text: text)
            return "\(connection) \(message.event ?? "?") \(message.data ?? "-")"
        }
    }
}
