import Foundation

/// The package as a peer of the side-by-side benchmark: one mode, one URL, one line of JSON.
@main
struct Bench {
    static let usage = """
        usage: websocket-bench flood URL
               websocket-bench echo URL SIZE COUNT
               websocket-bench idle URL N
               websocket-bench realtime URL [any|typed|raw|none]

        Prints one line of JSON with what was measured. BENCH_CA_FILE names the authority to trust over wss.
        """

    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            switch (words.first, words.count) {
            case ("flood", 2): try await Flood.run(words[1])
            case ("echo", 4):
                try await EchoBench.run(words[1], size: number(words[2]), count: number(words[3]))
            case ("idle", 3): try await Idle.run(words[1], count: number(words[2]))
            case ("realtime", 2...3):
                try await RealtimeBench.run(words[1], handler: words.count == 3 ? words[2] : "any")
            default: throw Failure("not understood\n\(usage)")
            }
            exit(0)
        } catch {
            FileHandle.standardError.write(Data("websocket-bench: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func number(_ word: String) throws -> Int {
        guard let number = Int(word), number > 0 else { throw Failure("'\(word)' is no number above 0") }
        return number
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
