import Foundation
import SystemIO
import SystemTLS

/// Posts over a TLS of our own: Foundation's URLSession knows only the authorities of the system here, so a program
/// that trusts others (`options.tls`) is served by this.
struct TLSTransport: AuthTransport {
    let options: TLSOptions
    /// Seconds, for one request from the name lookup to the last byte of the answer.
    let timeout: Double

    func post(_ body: [UInt8], headers: [String: String], to endpoint: AuthEndpoint) async throws
        -> AuthAnswer
    {
        let deadline = BootInstant.now.advanced(by: .seconds(timeout))
        let request = HTTPSRequest(body, headers, endpoint)
        return try await withThrowingTaskGroup(of: AuthAnswer.self) { group in
            group.addTask { try await exchange(request, endpoint) }
            group.addTask {
                try await EventLoop.shared.sleep(until: deadline)
                throw endpoint.error("no answer within authTimeout (\(timeout) s)")
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() else { throw CancellationError() }
            return answer
        }
    }

    private func exchange(_ request: HTTPSRequest, _ endpoint: AuthEndpoint) async throws -> AuthAnswer {
        do {
            return try await attempt(request)
        } catch let error as RealtimeAuthError {
            throw error
        } catch {
            try Task.checkCancellation()
            let why =
                (error as? TLSError)?.message ?? (error as? HTTPAnswerParser.Fault)?.message ?? "\(error)"
            throw endpoint.error("no answer: \(why)")
        }
    }

    private func attempt(_ request: HTTPSRequest) async throws -> AuthAnswer {
        let addresses = try await Resolver.system.resolve(request.host, request.port)
        let socket = try await connectTCP(to: addresses, on: .shared)
        var stream = try TLSStream(
            client: TLSContext.client(options), socket: socket, host: request.host)
        while case .wants(let interest) = try stream.handshake() {
            _ = try await EventLoop.shared.waitUntilReady(stream.rawValue, interest)
        }
        var sent = 0
        while sent < request.bytes.count {
            let outcome = try request.bytes.withUnsafeBytes { bytes in
                try stream.write(UnsafeRawBufferPointer(rebasing: bytes[sent...]))
            }
            switch outcome {
            case .bytes(let count): sent += count
            case .wouldBlock(let interest):
                _ = try await EventLoop.shared.waitUntilReady(stream.rawValue, interest)
            }
        }
        var parser = HTTPAnswerParser()
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            switch try buffer.withUnsafeMutableBytes({ try stream.read(into: $0) }) {
            case .bytes(let count):
                let answer = try buffer.withUnsafeBytes { bytes in
                    try parser.receive(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                }
                if let answer {
                    stream.shutdown()
                    return answer
                }
            case .wouldBlock(let interest):
                _ = try await EventLoop.shared.waitUntilReady(stream.rawValue, interest)
            case .end(let isClean):
                return try parser.end(isClean: isClean)
            }
        }
    }
}

/// A POST, ready to be written.
struct HTTPSRequest: Sendable {
    let host: String
    let port: UInt16
    let bytes: [UInt8]

    init(_ body: [UInt8], _ headers: [String: String], _ endpoint: AuthEndpoint) {
        let parts = URLComponents(url: endpoint.url, resolvingAgainstBaseURL: true)
        let name = endpoint.url.host ?? ""
        host = name.hasPrefix("[") && name.hasSuffix("]") ? String(name.dropFirst().dropLast()) : name
        port = UInt16(exactly: endpoint.url.port ?? 443) ?? 443
        let path = parts?.percentEncodedPath ?? ""
        let query = parts?.percentEncodedQuery.map { "?\($0)" } ?? ""
        let authority = host.contains(":") ? "[\(host)]" : host
        var lines = [
            "POST \(path.isEmpty ? "/" : path)\(query) HTTP/1.1",
            "Host: \(port == 443 ? authority : "\(authority):\(port)")",
            "Content-Length: \(body.count)", "Connection: close", "Accept: application/json",
        ]
        let own: Set<String> = ["host", "content-length", "connection", "transfer-encoding", "accept"]
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) where !own.contains(name.lowercased()) {
            lines.append("\(name): \(value)")
        }
        bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
    }
}
