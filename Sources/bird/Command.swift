/// What a subcommand is: a description to parse and explain, and something to run.
protocol Command: Sendable {
    static var specification: CommandSpecification { get }

    /// Reads the command out of its parsed words.
    init(_ arguments: Arguments) throws(UsageError)

    func run() async -> ExitCode
}

/// How the tool ends; the numbers are part of its interface.
enum ExitCode: Int32, Sendable {
    case done = 0
    case failed = 1
    case usage = 2
    case timedOut = 3
}

/// The command line cannot be used as it is. The message names the word to mend.
struct UsageError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}

/// The words a subcommand understands, from which both its parser and its help come.
struct CommandSpecification: Sendable {
    struct Option: Sendable {
        let name: String
        /// The placeholder of its value in the help; nil for a flag.
        let value: String?
        let repeats: Bool
        let help: String

        static func flag(_ name: String, _ help: String) -> Option {
            Option(name: name, value: nil, repeats: false, help: help)
        }

        static func value(_ name: String, _ value: String, _ help: String, repeats: Bool = false) -> Option {
            Option(name: name, value: value, repeats: repeats, help: help)
        }
    }

    let name: String
    let summary: String
    /// What follows the options, as it reads in the usage line: `CHANNEL...`.
    let operands: String
    let options: [Option]
    /// Paragraphs below the options: what it prints, an example.
    let notes: String

    var help: String {
        var lines = ["usage: bird \(name) [options] \(operands)", "", summary, ""]
        let all = options + [.flag("--help", "print this text")]
        let heads = all.map { option in option.value.map { "\(option.name) \($0)" } ?? option.name }
        let width = min(heads.map(\.count).max() ?? 0, 28)
        for (head, option) in zip(heads, all) {
            let text = option.help + (option.repeats ? " (repeatable)" : "")
            if head.count > width {
                lines.append("  \(head)")
                lines.append("  " + String(repeating: " ", count: width) + "  \(text)")
            } else {
                lines.append("  " + head + String(repeating: " ", count: width - head.count) + "  \(text)")
            }
        }
        lines += ["", notes]
        return lines.joined(separator: "\n")
    }
}
