import SystemIO
import SystemTLS
import Testing
import WebSocketCore

/// A server whose bytes are in the test's hand: it listens on 127.0.0.1 and does nothing by itself.
final class ScriptedServer: Sendable {
    let port: UInt16
    private let socket: ListeningSocket
    private let tls: TLSContext?

    /// - Parameter identity: the certificate and key for TLS; nil for plain TCP.
    init(_ identity: CertificateAuthority.Identity? = nil, at address: SocketAddress = .loopback()) throws {
        socket = try ListeningSocket.bind(address)
        port = try #require(socket.address.port)
        tls = try identity.map {
            try TLSContext.server(
                certificateChainPEM: $0.certificateChainPEM, privateKeyPEM: $0.privateKeyPEM)
        }
    }

    var url: String { "\(tls == nil ? "ws" : "wss")://127.0.0.1:\(port)/" }

    /// Whether somebody has connected whom nobody accepted yet.
    func hasConnection() async throws -> Bool {
        await rounds(3)
        return try socket.accept() != nil
    }

    /// The next connection over TCP, before any byte. Small buffers make a peer that does not read felt soon.
    func acceptTCP(smallBuffers: Bool = false) async throws -> ScriptedConnection {
        while true {
            if let accepted = try socket.accept() {
                if smallBuffers {
                    accepted.setSendBufferSize(16 << 10)
                    accepted.setReceiveBufferSize(16 << 10)
                }
                return try ScriptedConnection(accepted, tls)
            }
            _ = try await EventLoop.shared.waitUntilReady(socket.rawValue, .read)
        }
    }

    /// The next connection; over TLS with its handshake done.
    func accept(smallBuffers: Bool = false) async throws -> ScriptedConnection {
        let connection = try await acceptTCP(smallBuffers: smallBuffers)
        if tls != nil { try await connection.handshake() }
        return connection
    }

    /// The next connection, upgraded.
    ///
    /// - Parameter fields: lines added to the answer, such as `Sec-WebSocket-Protocol: a`.
    func acceptUpgraded(_ fields: String..., smallBuffers: Bool = false) async throws -> ScriptedConnection {
        let connection = try await accept(smallBuffers: smallBuffers)
        let request = try await connection.readHead()
        try await connection.write(request.upgrade(fields))
        return connection
    }
}

/// The head of an HTTP request, as it came.
struct ScriptedRequest: Sendable {
    var text: String

    var lines: [String] { text.split(separator: "\r\n").map(String.init) }

    /// All values of a field, the name without regard to case.
    func values(_ name: String) -> [String] {
        lines.dropFirst().compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
            return String(parts[1].drop { $0 == " " })
        }
    }

    /// The right Sec-WebSocket-Accept.
    var accept: String { AcceptKey.answer(to: values("Sec-WebSocket-Key").first ?? "") }

    /// A valid 101, with lines added.
    func upgrade(_ fields: [String] = []) -> [UInt8] {
        let lines =
            [
                "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
                "Sec-WebSocket-Accept: \(accept)",
            ] + fields
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
}

/// A frame as the server sees it, its masking undone.
struct ScriptedFrame: Equatable, Sendable, CustomStringConvertible {
    /// The first byte: FIN, RSV bits, opcode.
    var head: UInt8
    var payload: [UInt8]
    var isMasked = true

    static func close(_ code: UInt16, _ reason: String = "") -> ScriptedFrame {
        ScriptedFrame(
            head: 0x88, payload: [UInt8(code >> 8), UInt8(truncatingIfNeeded: code)] + Array(reason.utf8))
    }
    static func text(_ text: String) -> ScriptedFrame { ScriptedFrame(head: 0x81, payload: Array(text.utf8)) }

    /// The code of a close frame; nil for others and for one without.
    var closeCode: UInt16? {
        guard head == 0x88, payload.count >= 2 else { return nil }
        return UInt16(payload[0]) << 8 | UInt16(payload[1])
    }

    /// As a server sends it: not masked.
    var bytes: [UInt8] {
        let count = payload.count
        let length: [UInt8]
        switch count {
        case ..<126: length = [UInt8(count)]
        case ..<65536: length = [126, UInt8(count >> 8), UInt8(count & 0xFF)]
        default: length = [127] + withUnsafeBytes(of: UInt64(count).bigEndian) { Array($0) }
        }
        return [head] + length + payload
    }

    var description: String {
        "\(String(head, radix: 16)) +\(payload.count)\(isMasked ? "" : " unmasked") \(payload.prefix(32))"
    }
}

/// One end of a connection, byte by byte. One task may read while another writes.
actor ScriptedConnection {
    private var plain: TCPSocket?
    private var secure: TLSStream?
    /// Watched for reading, so that a reader and a writer can wait at the same time.
    private var readWatch: Descriptor?
    private var unread: [UInt8] = []

    init(_ socket: consuming TCPSocket, _ tls: TLSContext?) throws {
        readWatch = Descriptor(owning: try duplicate(socket.rawValue))
        if let tls {
            secure = try TLSStream(server: tls, socket: socket)
        } else {
            plain = consume socket
        }
    }

    // MARK: TLS

    func handshake() async throws {
        while case .wants(let interest)? = try secure?.handshake() {
            try await wait(interest)
        }
    }

    /// The name the client asked for (SNI).
    var serverName: String? { secure?.requestedServerName }

    // MARK: Writing

    /// Writes all of it, however long the peer takes.
    func write(_ bytes: [UInt8]) async throws {
        var written = 0
        while written < bytes.count {
            switch try writeSome(bytes, from: written) {
            case .bytes(let count): written += count
            case .wouldBlock(let interest): try await wait(interest)
            }
        }
    }

    func write(_ text: String) async throws { try await write(Array(text.utf8)) }

    /// Writes as much as the kernel takes now.
    func writeNow(_ bytes: [UInt8]) throws -> Int {
        if case .bytes(let count) = try writeSome(bytes, from: 0) { return count }
        return 0
    }

    private func writeSome(_ bytes: [UInt8], from offset: Int) throws -> WriteOutcome {
        try bytes.withUnsafeBytes { bytes in
            let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...])
            if secure != nil { return try secure?.write(rest) ?? .bytes(0) }
            guard let outcome = try plain?.write(rest) else { throw ScriptError.closedHere }
            return outcome
        }
    }

    // MARK: Reading

    /// Some bytes; nil at the end of the stream. A reset throws.
    func read() async throws -> [UInt8]? {
        if !unread.isEmpty {
            defer { unread = [] }
            return unread
        }
        while true {
            var bytes = [UInt8](repeating: 0, count: 64 << 10)
            switch try readSome(&bytes) {
            case .bytes(let count): return Array(bytes[..<count])
            case .wouldBlock(let interest): try await wait(interest)
            case .end: return nil
            }
        }
    }

    private func readSome(_ bytes: inout [UInt8]) throws -> ReadOutcome {
        try bytes.withUnsafeMutableBytes { buffer in
            if secure != nil { return try secure?.read(into: buffer) ?? .end(isClean: true) }
            guard let outcome = try plain?.read(into: buffer) else { throw ScriptError.closedHere }
            return outcome
        }
    }

    /// So many bytes, no more and no fewer.
    func read(count: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let more = try await read() else { throw ScriptError.ended(after: bytes) }
            bytes += more
        }
        unread = Array(bytes[count...])
        return Array(bytes[..<count])
    }

    /// Up to and with the empty line.
    func readHead() async throws -> ScriptedRequest {
        var bytes: [UInt8] = []
        while bytes.suffix(4) != [13, 10, 13, 10] { bytes += try await read(count: 1) }
        return ScriptedRequest(text: String(decoding: bytes, as: UTF8.self))
    }

    /// The next frame of the client.
    func readFrame() async throws -> ScriptedFrame {
        let head = try await read(count: 2)
        var count = Int(head[1] & 0x7F)
        if count >= 126 {
            let bytes = try await read(count: count == 126 ? 2 : 8)
            count = bytes.reduce(0) { $0 << 8 | Int($1) }
        }
        let isMasked = head[1] & 0x80 != 0
        let key = isMasked ? try await read(count: 4) : [0, 0, 0, 0]
        var payload = try await read(count: count)
        for index in payload.indices { payload[index] ^= key[index % 4] }
        return ScriptedFrame(head: head[0], payload: payload, isMasked: isMasked)
    }

    /// Everything up to the end of the stream; what came before a reset, where there was one.
    func readToEnd() async -> [UInt8] {
        var bytes: [UInt8] = []
        while let more = try? await read() { bytes += more }
        return bytes
    }

    /// Waits for the end of the stream; anything else that comes first is an error.
    func expectEnd() async throws {
        if let bytes = try await read() { throw ScriptError.unexpected(bytes) }
    }

    // MARK: Ending

    /// FIN; over TLS without close_notify.
    func finish() {
        plain?.shutdownWrite()
        secure?.shutdownWrite()
    }

    /// close_notify alone.
    func closeNotify() { secure?.shutdown() }

    /// Closes both directions; over TLS without close_notify.
    func close() {
        plain = nil
        secure = nil
        readWatch = nil
    }

    /// RST.
    func reset() {
        plain?.resetOnClose()
        secure?.resetOnClose()
        close()
    }

    private func wait(_ interest: Interest) async throws {
        let descriptor: Int32? = interest == .read ? readWatch?.rawValue : plain?.rawValue ?? secure?.rawValue
        guard let descriptor else { throw ScriptError.closedHere }
        _ = try await EventLoop.shared.waitUntilReady(descriptor, interest)
    }
}

enum ScriptError: Error {
    /// The script closed the connection itself.
    case closedHere
    case ended(after: [UInt8])
    case unexpected([UInt8])
}
