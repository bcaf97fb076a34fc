import BirdRealtime
import Dispatch
import Foundation

/// `bird trigger`: sends one client event.
struct TriggerCommand: Command {
    static let specification = CommandSpecification(
        name: "trigger",
        summary: "Subscribes to a private or presence channel, sends one client event and exits.",
        operands: "CHANNEL EVENT JSON", options: Endpoint.options,
        notes: """
            The event's name begins with client-. Exits 1 when the channel or the event is refused, 3 when it took longer
            than --connect-timeout to get there.

            example: bird trigger --app-key KEY --region eu1 --auth-endpoint https://example.com/auth \\
                       private-chat client-typing '{"who":"ada"}'
            """)

    private let options: BirdRealtimeOptions
    private let channel: String
    private let event: String
    private let text: String

    init(_ arguments: Arguments) throws(UsageError) {
        options = try Endpoint.clientOptions(arguments)
        guard arguments.operands.count == 3 else {
            throw UsageError("a channel, an event and its JSON are wanted")
        }
        channel = arguments.operands[0]
        event = arguments.operands[1]
        text = arguments.operands[2]
        guard event.hasPrefix(BirdProtocol.clientEventPrefix) else {
            throw UsageError("a client event's name begins with client-, not '\(event)'")
        }
        do {
            _ = try JSONValueText.value(text)
        } catch {
            throw UsageError("'\(text)' is not JSON")
        }
    }

    private enum Outcome: Sendable {
        case subscribed
        case refused(String)
        case stopped
        case tooLate
    }

    func run() async -> ExitCode {
        let bird = BirdRealtime(options: options, deliveryQueue: DispatchQueue(label: "bird.events"))
        let (outcomes, outcome) = AsyncStream.makeStream(of: Outcome.self)
        let signals = StopSignals { outcome.yield(.stopped) }
        defer { withExtendedLifetime(signals) {} }
        bird.onConnectionStateChange { _, current in
            if current == .failed { outcome.yield(.refused("the service refused the connection")) }
        }
        bird.onError { Terminal.note("bird: \($0.message)") }
        let target = bird.subscribe(channel)
        target.bind(BirdProtocol.Event.subscriptionSucceeded) { _ in outcome.yield(.subscribed) }
        target.bind(BirdProtocol.Event.subscriptionError) { value in
            let why = (value as? [String: Any])?["error"] as? String ?? "no reason given"
            outcome.yield(.refused("\(channel) was refused: \(why)"))
        }
        let limit = options.connectTimeout
        let timer = Task {
            try await Task.sleep(for: .seconds(limit))
            outcome.yield(.tooLate)
        }
        bird.connect()
        var code = ExitCode.failed
        for await outcome in outcomes {
            code = conclude(outcome, target, limit)
            break
        }
        timer.cancel()
        await bird.disconnectAndWait()
        return code
    }

    private func conclude(_ outcome: Outcome, _ target: Channel, _ limit: Double) -> ExitCode {
        switch outcome {
        case .stopped: return .done
        case .tooLate:
            Terminal.note("bird: \(channel) was not subscribed within \(limit) s")
            return .timedOut
        case .refused(let why):
            Terminal.note("bird: \(why)")
            return .failed
        case .subscribed:
            do {
                if try target.trigger(event, data: try JSONValueText.value(text)) { return .done }
                Terminal.note("bird: the connection dropped before the event was sent")
            } catch {
                Terminal.note("bird: \(ListenSession.words(error))")
            }
            return .failed
        }
    }
}
