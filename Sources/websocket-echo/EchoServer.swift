import Foundation
import WebSocketClient

/// A WebSocket server that sends back what it is sent.
@main
struct EchoServer {
    static let usage = """
        usage: websocket-echo [--port P] [--certificate CHAIN.pem --key KEY.pem]
               websocket-echo --demo

        Serves on 127.0.0.1 until it is stopped; with a certificate over TLS. --demo starts such a server over TLS, with a
        certificate made on the spot, and shows a client that talks to it.
        """

    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            if words == ["--demo"] {
                try await Demo().run()
            } else if words == ["--help"] {
                print(usage)
            } else {
                try await serve(words)
            }
        } catch {
            FileHandle.standardError.write(Data("websocket-echo: \(error)\n".utf8))
            exit(1)
        }
    }

    static func serve(_ words: [String]) async throws {
        var port: UInt16 = 9001
        var files: [String: String] = [:]
        var rest = words[...]
        while let word = rest.popFirst() {
            guard let value = rest.popFirst(), ["--port", "--certificate", "--key"].contains(word) else {
                throw WebSocketEchoError(description: "'\(word)' is not understood\n\(usage)")
            }
            if word == "--port" {
                guard let number = UInt16(value) else {
                    throw WebSocketEchoError(description: "--port \(value) is no port")
                }
                port = number
            } else {
                files[word] = try String(contentsOfFile: value, encoding: .utf8)
            }
        }
        var options = WebSocketListener.Options()
        options.connection.deflate = DeflateOptions()
        if let chain = files["--certificate"], let key = files["--key"] { options.identity = (chain, key) }
        let listener = try await WebSocketListener.listen(port: port, options: options) { _ in
            .accept(Echo { _ in })
        }
        print("echoing on \(options.identity == nil ? "ws" : "wss")://127.0.0.1:\(listener.port)")
        while true { try await Task.sleep(for: .seconds(3600)) }
    }
}

struct WebSocketEchoError: Error, CustomStringConvertible {
    let description: String
}
