import Testing
import WebSocketCore

/// One way to break the protocol, and what it is answered with.
struct Offence: Sendable, CustomTestStringConvertible {
    var what: String
    var bytes: [UInt8]
    var code: UInt16
    var section: String
    var role = Role.client
    /// What is seen before the offence.
    var before: [Seen] = []

    var testDescription: String { what }
}

@Suite("Violations fail the connection with their code, RFC 6455 §7.1.7")
struct ViolationTests {
    static let offences: [Offence] =
        [
            Offence(
                what: "RSV1 without an extension", bytes: [0xC1, 0x00], code: 1002, section: "RFC 6455 §5.2"),
            Offence(what: "RSV2", bytes: [0xA1, 0x00], code: 1002, section: "RFC 6455 §5.2"),
            Offence(what: "RSV3", bytes: [0x91, 0x00], code: 1002, section: "RFC 6455 §5.2"),
            Offence(what: "RSV1 on a ping", bytes: [0xC9, 0x00], code: 1002, section: "RFC 6455 §5.2"),
            Offence(
                what: "a masked frame of a server", bytes: [0x81, 0x80, 0, 0, 0, 0], code: 1002,
                section: "RFC 6455 §5.1"),
            Offence(
                what: "an unmasked frame of a client", bytes: [0x81, 0x00], code: 1002,
                section: "RFC 6455 §5.1",
                role: .server),
            Offence(what: "a fragmented ping", bytes: [0x09, 0x00], code: 1002, section: "RFC 6455 §5.5"),
            Offence(what: "a fragmented close", bytes: [0x08, 0x00], code: 1002, section: "RFC 6455 §5.5"),
            Offence(
                what: "a ping of 126 bytes", bytes: [0x89, 0x7E, 0x00, 0x7E], code: 1002,
                section: "RFC 6455 §5.5"),
            Offence(
                what: "a pong with a 64-bit length", bytes: [0x8A, 0x7F], code: 1002, section: "RFC 6455 §5.5"
            ),
            Offence(what: "a close of 126 bytes", bytes: [0x88, 0x7E], code: 1002, section: "RFC 6455 §5.5"),
            Offence(
                what: "125 in 16 bits", bytes: [0x82, 0x7E, 0x00, 0x7D], code: 1002, section: "RFC 6455 §5.2"),
            Offence(
                what: "65535 in 64 bits", bytes: [0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], code: 1002,
                section: "RFC 6455 §5.2"),
            Offence(
                what: "B1: a length of 2^63", bytes: [0x82, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 0], code: 1002,
                section: "RFC 6455 §5.2"),
            Offence(
                what: "B1: a length of 2^64-1", bytes: [0x82, 0x7F] + [UInt8](repeating: 0xFF, count: 8),
                code: 1002,
                section: "RFC 6455 §5.2"),
            Offence(
                what: "B1: a length of 2^63-1",
                bytes: [0x82, 0x7F, 0x7F] + [UInt8](repeating: 0xFF, count: 7),
                code: 1009, section: "RFC 6455 §10.4"),
            Offence(
                what: "B1: a length of 2^63-1 of a client",
                bytes: [0x82, 0xFF, 0x7F] + [UInt8](repeating: 0xFF, count: 7), code: 1009,
                section: "RFC 6455 §10.4", role: .server),
            Offence(
                what: "a continuation of nothing", bytes: [0x80, 0x00], code: 1002, section: "RFC 6455 §5.4"),
            Offence(
                what: "a message inside a message", bytes: frame(0x01, "a") + frame(0x81, "b"), code: 1002,
                section: "RFC 6455 §5.4"),
            Offence(
                what: "a continuation behind the last one",
                bytes: frame(0x01, "a") + frame(0x80, "b") + frame(0x80),
                code: 1002, section: "RFC 6455 §5.4", before: [.text("ab")]),
            Offence(
                what: "half a close code", bytes: [0x88, 0x01, 0x03], code: 1002, section: "RFC 6455 §5.5.1"),
            Offence(
                what: "a close reason that is not UTF-8", bytes: [0x88, 0x04, 0x03, 0xE8, 0xC3, 0x28],
                code: 1007,
                section: "RFC 6455 §5.5.1"),
            Offence(
                what: "a close reason that ends inside a character",
                bytes: [0x88, 0x04, 0x03, 0xE8, 0xE2, 0x82],
                code: 1007, section: "RFC 6455 §5.5.1"),
            Offence(
                what: "C1: a bad continuation byte across fragments",
                bytes: [0x01, 0x01, 0xC3, 0x80, 0x01, 0x28], code: 1007, section: "RFC 6455 §8.1"),
            Offence(
                what: "C1: a message that ends inside a character", bytes: [0x81, 0x02, 0xE2, 0x82],
                code: 1007, section: "RFC 6455 §8.1"),
            Offence(
                what: "C1: a surrogate", bytes: [0x81, 0x03, 0xED, 0xA0, 0x80], code: 1007,
                section: "RFC 6455 §8.1"),
            Offence(
                what: "C1: an overlong NUL", bytes: [0x81, 0x02, 0xC0, 0x80], code: 1007,
                section: "RFC 6455 §8.1"),
        ]
        + [3, 4, 5, 6, 7].flatMap { low in
            [
                Offence(what: "opcode \(low)", bytes: [0x80 | low, 0], code: 1002, section: "RFC 6455 §5.2"),
                Offence(
                    what: "opcode \(low + 8)", bytes: [0x88 | low, 0], code: 1002, section: "RFC 6455 §5.2"),
            ]
        }

    @Test("One error, one close frame with the code, and nothing that follows is read", arguments: offences)
    func offence(_ offence: Offence) {
        let end = Endpoint(offence.role)
        let after: [UInt8] = [0x81, 0x01, 0x61]
        #expect(
            end.receive(offence.bytes + after) == offence.before + [.failed(offence.code, offence.section)])
        #expect(end.receive(after) == [])
        #expect(end.connection.closing.sent?.code?.rawValue == offence.code)
        #expect(end.connection.closing.received == nil)
        #expect(throws: SendError.closed) { try end.send("late") }

        let told = Endpoint(offence.role == .client ? .server : .client).receive(end.written())
        guard case .close(let code, let reason)? = told.first, told.count == 1 else {
            Issue.record("the peer saw \(told)")
            return
        }
        #expect(code == offence.code)
        #expect(!reason.isEmpty && reason.utf8.count <= 123)
    }

    @Test("The same, byte by byte", arguments: offences)
    func offenceByteByByte(_ offence: Offence) {
        let end = Endpoint(offence.role)
        let seen = end.receive(pieces: offence.bytes.indices.map { offence.bytes[$0...$0] })
        #expect(seen == offence.before + [.failed(offence.code, offence.section)])
    }

    @Test("§8.1: the first bad byte fails the connection, though its frame has not come whole")
    func failFast() {
        let client = Endpoint()
        // 100 bytes declared; the third one is bad.
        #expect(client.receive([0x81, 0x64, 0x61, 0x62]) == [])
        #expect(client.receive([0xFF]) == [.failed(1007, "RFC 6455 §8.1")])
        let server = Endpoint(.server)
        #expect(server.receive([0x01, 0x84, 0, 0, 0, 0, 0xF4]) == [])
        #expect(server.receive([0x90]) == [.failed(1007, "RFC 6455 §8.1")])
    }

    @Test("C1: characters split between fragments are whole again")
    func splitCharacters() {
        let client = Endpoint()
        #expect(client.receive([0x01, 0x02, 0xE2, 0x82, 0x80, 0x01, 0xAC]) == [.text("€")])
        let emoji: [UInt8] = [0x01, 0x01, 0xF0, 0x00, 0x01, 0x9F, 0x00, 0x01, 0x98, 0x80, 0x01, 0x80]
        #expect(client.receive(emoji) == [.text("😀")])
        #expect(client.receive([0x81, 0x01, 0x00]) == [.text("\u{0}")])
    }

    @Test("§10.4: a frame above maxFrameBytes, a message above maxMessageBytes")
    func limits() {
        var limits = Limits()
        limits.maxFrameBytes = 10
        limits.maxMessageBytes = 15
        let ten = [UInt8](repeating: 1, count: 10)
        for role in [Role.client, .server] {
            let mask: [UInt8]? = role == .server ? [9, 8, 7, 6] : nil
            let tooBig = [Seen.failed(1009, "RFC 6455 §10.4")]
            #expect(Endpoint(role, limits: limits).receive(frame(0x82, ten, mask: mask)) == [.binary(ten)])
            // The head alone is enough to know.
            let head = frame(0x82, ten + [1], mask: mask).prefix(mask == nil ? 2 : 6)
            #expect(Endpoint(role, limits: limits).receive(Array(head)) == tooBig)
            let end = Endpoint(role, limits: limits)
            #expect(
                end.receive(frame(0x02, ten, mask: mask) + frame(0x00, [1, 2, 3, 4, 5], mask: mask)) == [])
            #expect(end.receive(frame(0x80, [1], mask: mask)) == tooBig)
        }
    }
}
