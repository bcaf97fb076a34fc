import BirdRealtime
import Foundation

/// `bird`: the realtime service, any WebSocket server and the loopback edge, from a shell.
@main
struct Bird {
    static let commands: [any Command.Type] = [
        ListenCommand.self, TriggerCommand.self, EdgeCommand.self, PublishCommand.self, SocketCommand.self,
    ]

    static func main() async {
        // A reader that goes away (`bird listen … | head -1`) ends the tool through a failed write, not by a signal.
        signal(SIGPIPE, SIG_IGN)
        let words = Array(CommandLine.arguments.dropFirst())
        exit(await run(words).rawValue)
    }

    static func run(_ words: [String]) async -> ExitCode {
        guard let name = words.first else {
            Terminal.note(overview)
            return .usage
        }
        if ["help", "--help", "-h"].contains(name) {
            guard words.count > 1, let command = command(named: words[1]) else {
                Terminal.print(overview)
                return .done
            }
            Terminal.print(command.specification.help)
            return .done
        }
        if name == "--version" {
            Terminal.print(BirdRealtime.version)
            return .done
        }
        guard let command = command(named: name) else {
            Terminal.note("bird: there is no subcommand '\(name)'; 'bird help' lists them")
            return .usage
        }
        do {
            let arguments = try Arguments(Array(words.dropFirst()), for: command.specification)
            if arguments.has("--help") {
                Terminal.print(command.specification.help)
                return .done
            }
            let prepared = try command.init(arguments)
            return await prepared.run()
        } catch {
            Terminal.note("bird \(name): \(error.message)\n'bird \(name) --help' shows how it is used")
            return .usage
        }
    }

    private static func command(named name: String) -> (any Command.Type)? {
        commands.first { $0.specification.name == name }
    }

    private static var overview: String {
        var lines = [
            "usage: bird SUBCOMMAND [options]", "",
            "Listens to Bird Realtime channels, triggers client events, talks to any WebSocket server,",
            "and runs the loopback edge that tests are written against.", "",
        ]
        for command in commands {
            let name = command.specification.name.padding(toLength: 9, withPad: " ", startingAt: 0)
            lines.append("  \(name) \(command.specification.summary)")
        }
        lines += [
            "", "'bird SUBCOMMAND --help' explains one of them; 'bird --version' prints the version.",
            "Exit codes: 0 done, 1 refused or failed, 2 usage, 3 timed out.",
        ]
        return lines.joined(separator: "\n")
    }
}
