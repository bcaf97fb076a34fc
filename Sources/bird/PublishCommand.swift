import Foundation
import FoundationNetworking

/// `bird publish`: publishes one event through the loopback edge.
struct PublishCommand: Command {
    static let specification = CommandSpecification(
        name: "publish", summary: "Publishes an event through a loopback edge's publish endpoint.",
        operands: "CHANNEL EVENT JSON",
        options: [.value("--edge", "URL", "the edge's auth server, such as http://127.0.0.1:4101")],
        notes: """
            Exits 1 when the edge does not take the event.

            example: bird publish --edge http://127.0.0.1:4101 orders order-updated '{"id":1}'
            """)

    private let endpoint: URL
    private let body: String

    init(_ arguments: Arguments) throws(UsageError) {
        guard let text = arguments.text("--edge") else { throw UsageError("--edge is missing") }
        guard var url = URL(string: text), ["http", "https"].contains(url.scheme), url.host != nil else {
            throw UsageError("--edge wants an http URL, not '\(text)'")
        }
        if url.path.isEmpty || url.path == "/" { url = url.appendingPathComponent("publish") }
        guard arguments.operands.count == 3 else {
            throw UsageError("a channel, an event and its JSON are wanted")
        }
        let (channel, event, json) = (arguments.operands[0], arguments.operands[1], arguments.operands[2])
        do {
            _ = try JSONValueText.value(json)
        } catch {
            throw UsageError("'\(json)' is not JSON")
        }
        endpoint = url
        body =
            "{\"channel\":\(JSONLine.quoted(channel)),\"event\":\(JSONLine.quoted(event)),\"data\":\(json)}"
    }

    func run() async -> ExitCode {
        var request = URLRequest(url: endpoint, timeoutInterval: 10)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data(body.utf8)
        do {
            let (answer, response) = try await URLSession.shared.data(for: request)
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            let text = String(decoding: answer, as: UTF8.self)
            guard (200..<300).contains(status) else {
                Terminal.note("bird publish: \(endpoint.absoluteString) answered \(status): \(text)")
                return .failed
            }
            Terminal.print(text.isEmpty ? "{}" : text)
            return .done
        } catch {
            Terminal.note(
                "bird publish: \(endpoint.absoluteString) did not answer: \(error.localizedDescription)")
            return .failed
        }
    }
}
