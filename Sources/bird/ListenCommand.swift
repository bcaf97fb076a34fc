import BirdRealtime
import Dispatch
import Foundation

/// `bird listen`: subscribes and shows what comes.
struct ListenCommand: Command {
    static let specification = CommandSpecification(
        name: "listen",
        summary: "Subscribes to channels and prints their events, the connection's states and its errors.",
        operands: "CHANNEL...",
        options: Endpoint.options + [
            .flag("--signin", "sign in at each connection, and print member and watchlist events"),
            .value("--event", "NAME", "print application events of this name alone", repeats: true),
            .value("--count", "N", "end after N application events"),
            .value("--for", "SECONDS", "end after this time"),
            .flag(
                "--interactive",
                "take commands from stdin; needs no channel, and stays when the service refuses"),
            .flag("--json", "JSON lines on a terminal too"),
        ],
        notes: """
            Prints one JSON object a line, or a readable line on a terminal:
              {"type":"state","previous":"connecting","current":"connected","connection_id":"1.1","at":"..."}
              {"type":"event","channel":"orders","event":"order-updated","data":{...},"at":"..."}
              and the types member, error, signin, signin_error, watchlist, connecting_in, ack.

            With --interactive, lines on stdin: subscribe C, unsubscribe C, trigger C EVENT JSON, disconnect, connect,
            signin. Each is acknowledged by a line of type ack.

            Ctrl-C or SIGTERM closes with 1000 and exits 0. When the time of --for is up the tool exits 0, or 3 when
            --count was not reached. A refusal by the service exits 1.

            example: bird listen --app-key KEY --region eu1 orders
            """)

    let options: BirdRealtimeOptions
    let channels: [String]
    let signsIn: Bool
    let events: Set<String>
    let count: Int?
    let time: Double?
    let isInteractive: Bool
    let asJSON: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        options = try Endpoint.clientOptions(arguments)
        channels = arguments.operands
        signsIn = arguments.has("--signin")
        events = Set(arguments.texts("--event"))
        count = try arguments.count("--count")
        time = try arguments.seconds("--for")
        isInteractive = arguments.has("--interactive")
        asJSON = arguments.has("--json") || !Terminal.isScreen
        guard isInteractive || !channels.isEmpty || signsIn else { throw UsageError("which channel?") }
        if signsIn, options.memberAuthEndpoint == nil {
            throw UsageError("--signin needs --member-auth-endpoint")
        }
    }

    func run() async -> ExitCode {
        let queue = DispatchQueue(label: "bird.events")
        let bird = BirdRealtime(options: options, deliveryQueue: queue)
        let session = ListenSession(bird, self)
        let signals = StopSignals { session.finish(.done) }
        defer { withExtendedLifetime(signals) {} }
        session.start()
        let timer = time.map { seconds in
            Task {
                try await Task.sleep(for: .seconds(seconds))
                session.finish(count == nil ? .done : .timedOut)
            }
        }
        let commands = isInteractive ? Task { await InteractiveCommands(bird, session).run() } : nil
        let code = await session.finished()
        timer?.cancel()
        commands?.cancel()
        await bird.disconnectAndWait()
        // What was handed to the queue before is printed before the tool ends.
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        return code
    }
}
