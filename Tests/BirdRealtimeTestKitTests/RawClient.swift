import RealtimeCore
import SystemIO
import SystemTLS

@testable import BirdRealtimeTestKit

/// A client made of bytes, so that the edge is judged by what is on the wire. It knows just enough of HTTP and RFC 6455.
actor RawClient {
    enum Frame: Equatable {
        case text(String)
        case ping(String)
        case pong(String)
        case close(UInt16?, String)
        case other(UInt8)
    }

    struct Ended: Error {}

    private var socket: TCPSocket?
    private var tls: TLSStream?
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    /// The end is clean: TLS ended with close_notify.
    private(set) var isEndClean = false

    init(port: UInt16, host: String = "127.0.0.1") async throws {
        let address: SocketAddress = host == "::1" ? .loopback6(port: port) : .loopback(port: port)
        let socket = try await connectTCP(to: [address])
        descriptor = socket.rawValue
        self.socket = consume socket
        tls = nil
    }

    /// With TLS, the server verified.
    init(port: UInt16, host: String, trusting authorityPEM: String) async throws {
        let address: SocketAddress = host == "::1" ? .loopback6(port: port) : .loopback(port: port)
        let socket = try await connectTCP(to: [address])
        descriptor = socket.rawValue
        var options = TLSOptions()
        options.trust = .pem(authorityPEM)
        tls = try TLSStream(client: TLSContext.client(options), socket: socket, host: host)
        while case .wants(let interest) = try tls?.handshake() {
            _ = try await EventLoop.shared.waitUntilReady(descriptor, interest)
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteOutcome {
        if let outcome = try socket?.write(bytes) { return outcome }
        return try tls?.write(bytes) ?? .bytes(bytes.count)
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer) throws -> ReadOutcome {
        if let outcome = try socket?.read(into: buffer) { return outcome }
        return try tls?.read(into: buffer) ?? .end(isClean: false)
    }

    /// Connected, upgraded, with the 101 taken from the stream.
    static func open(_ edge: LoopbackEdge, target: String? = nil) async throws -> RawClient {
        let client =
            if let authority = edge.certificateAuthorityPEM {
                try await RawClient(port: edge.port, host: edge.host, trusting: authority)
            } else {
                try await RawClient(port: edge.port, host: edge.host)
            }
        let head = try await client.upgrade(target: target ?? "/app/\(edge.appKey)?protocol=7")
        guard head.hasPrefix("HTTP/1.1 101 ") else { throw Ended() }
        return client
    }

    /// Opened and with the handshake event taken.
    static func established(_ edge: LoopbackEdge) async throws -> RawClient {
        let client = try await open(edge)
        _ = try await client.text()
        return client
    }

    // MARK: Out

    func send(bytes: [UInt8]) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let outcome = try rest.withUnsafeBytes { try write($0) }
            switch outcome {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .wouldBlock(let interest):
                _ = try await EventLoop.shared.waitUntilReady(descriptor, interest)
            }
        }
    }

    /// A masked frame (RFC 6455 §5.3); the key is 0, which is allowed, if not wise.
    func send(opcode: UInt8, _ payload: [UInt8]) async throws {
        var frame = [0x80 | opcode]
        if payload.count < 126 {
            frame.append(0x80 | UInt8(payload.count))
        } else {
            frame += [0x80 | 126, UInt8(payload.count >> 8 & 0xFF), UInt8(payload.count & 0xFF)]
        }
        try await send(bytes: frame + [0, 0, 0, 0] + payload)
    }

    func send(_ text: String) async throws {
        try await send(opcode: 1, Array(text.utf8))
    }

    func send(close code: UInt16) async throws {
        try await send(opcode: 8, [UInt8(code >> 8), UInt8(code & 0xFF)])
    }

    func finish() {
        socket?.shutdownWrite()
        tls?.shutdownWrite()
    }

    // MARK: In

    /// False at the end of the stream. A reset is thrown.
    private func readMore() async throws -> Bool {
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let outcome = try chunk.withUnsafeMutableBytes { try read(into: $0) }
            switch outcome {
            case .bytes(let count):
                buffer += chunk[..<count]
                return true
            case .end(let isClean):
                isEndClean = isClean
                return false
            case .wouldBlock(let interest):
                _ = try await EventLoop.shared.waitUntilReady(descriptor, interest)
            }
        }
    }

    private func take(_ count: Int) async throws -> [UInt8]? {
        while buffer.count < count {
            guard try await readMore() else { return nil }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    /// The head of an HTTP answer, its empty line included.
    func head() async throws -> String {
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = try await take(1) else { throw Ended() }
            bytes += byte
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What is left of the stream.
    func rest() async throws -> [UInt8] {
        while try await readMore() {}
        defer { buffer = [] }
        return buffer
    }

    /// What one read brings.
    func oneRead() async throws -> [UInt8] {
        _ = try await readMore()
        defer { buffer = [] }
        return buffer
    }

    func request(target: String) -> String {
        "GET \(target) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    }

    func upgrade(target: String) async throws -> String {
        try await send(bytes: Array(request(target: target).utf8))
        return try await head()
    }

    /// POSTs JSON and returns the answer's status and body. The connection stays open.
    func post(_ path: String, _ body: String, headers: String = "") async throws -> (
        status: Int, body: String
    ) {
        try await send(
            bytes: Array(
                ("POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\(headers)"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)").utf8))
        let head = try await head()
        let length =
            head.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
        guard let answer = try await take(length) else { throw Ended() }
        return (Int(head.split(separator: " ")[1]) ?? 0, String(decoding: answer, as: UTF8.self))
    }

    /// The next frame; nil at the end of the stream. Servers do not mask (RFC 6455 §5.1).
    func frame() async throws -> Frame? {
        guard let head = try await take(2) else { return nil }
        var length = Int(head[1])
        if length >= 126 {
            guard let wide = try await take(length == 126 ? 2 : 8) else { throw Ended() }
            length = wide.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let payload = try await take(length) else { throw Ended() }
        let text = String(decoding: payload, as: UTF8.self)
        switch head[0] {
        case 0x81: return .text(text)
        case 0x88:
            guard payload.count >= 2 else { return .close(nil, "") }
            let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
            return .close(code, String(decoding: payload[2...], as: UTF8.self))
        case 0x89: return .ping(text)
        case 0x8A: return .pong(text)
        default: return .other(head[0])
        }
    }

    /// The next frame's text; throws when it is no text frame.
    func text() async throws -> String {
        guard case .text(let text) = try await frame() else { throw Ended() }
        return text
    }

    /// The event and the data of the next frame.
    func event() async throws -> (name: String?, data: String?) {
        let message = LoopbackEdge.Message(connection: 0, direction: .received, text: try await text())
        return (message.event, message.data)
    }
}

/// Runs a test with an edge that is stopped afterwards.
func withEdge(
    _ change: (inout LoopbackEdge.Configuration) -> Void = { _ in },
    _ body: (LoopbackEdge) async throws -> Void
) async throws {
    var configuration = LoopbackEdge.Configuration()
    configuration.sendsConnectionCount = false
    change(&configuration)
    let edge = LoopbackEdge(configuration)
    try await edge.start()
    do {
        try await body(edge)
    } catch {
        await edge.stop()
        throw error
    }
    await edge.stop()
}
