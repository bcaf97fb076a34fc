import Testing

@Suite("What the tool says when it cannot begin", .timeLimit(.minutes(3)))
struct UsageTests {
    @Test(
        "wrong words exit 2 and name the word",
        arguments: [
            ([], "usage: bird"),
            (["dance"], "'dance'"),
            (["listen", "orders"], "--app-key"),
            (["listen", "--app-key", "k", "orders"], "--region"),
            (["listen", "--app-key", "k", "--region", "eu1"], "channel"),
            (["listen", "--app-key", "k", "--region", "eu1", "--count", "many", "orders"], "--count"),
            (["listen", "--app-key", "k", "--region", "eu1", "--for", "-1", "orders"], "--for"),
            (["listen", "--app-key", "k", "--region", "eu1", "--colour", "orders"], "--colour"),
            (
                ["listen", "--app-key", "k", "--region", "eu1", "--ca-file", "/no/such/file", "orders"],
                "/no/such/file"
            ),
            (
                ["listen", "--app-key", "k", "--region", "eu1", "--auth-header", "x", "orders"],
                "--auth-header"
            ),
            (["trigger", "--app-key", "k", "--region", "eu1", "c", "typing", "{}"], "client-"),
            (["trigger", "--app-key", "k", "--region", "eu1", "c", "client-a", "{"], "JSON"),
            (["publish", "c", "e", "{}"], "--edge"),
            (["edge", "--port", "99999"], "--port"),
            (["ws"], "URL"),
            (["ws", "http://127.0.0.1/"], "ws"),
        ])
    func usage(words: [String], expected: String) async throws {
        let run = try ToolRun(words)
        try run.endInput()
        let said = await run.errors.rest().joined(separator: "\n")
        #expect(await run.exitCode() == 2)
        #expect(said.contains(expected), "it said: \(said)")
    }

    @Test("every subcommand explains itself", arguments: ["listen", "trigger", "edge", "publish", "ws"])
    func help(subcommand: String) async throws {
        let run = try ToolRun([subcommand, "--help"])
        let said = await run.output.rest().joined(separator: "\n")
        #expect(await run.exitCode() == 0)
        #expect(said.hasPrefix("usage: bird \(subcommand)"))
        #expect(said.contains("example:"))
    }

    @Test("the app key and the region may come from the environment")
    func environment() async throws {
        let run = try ToolRun(
            ["listen", "--for", "0.1", "orders"], environment: ["BIRD_APP_KEY": "k", "BIRD_REGION": ""])
        #expect(await run.errors.rest().joined().contains("--region"))
        #expect(await run.exitCode() == 2)
    }
}
