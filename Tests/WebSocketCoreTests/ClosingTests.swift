import Testing
import WebSocketCore

@Suite("The closing handshake, RFC 6455 §7")
struct ClosingTests {
    static let mask: [UInt8] = [1, 2, 3, 4]

    static func payload(_ code: UInt16, _ reason: String = "") -> [UInt8] {
        [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8)
    }

    static let validCodes: [UInt16] = [
        1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999,
    ]
    static let invalidCodes: [UInt16] = [
        0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535,
    ]

    @Test("§7.4: codes that may be on the wire are reported and echoed", arguments: validCodes)
    func valid(code: UInt16) throws {
        let client = Endpoint()
        #expect(client.receive(frame(0x88, Self.payload(code, "why"))) == [.close(code, "why")])
        #expect(client.written() == frame(0x88, Self.payload(code), mask: Self.mask))
        let server = Endpoint(.server)
        try server.close(code, "why")
        #expect(server.written() == frame(0x88, Self.payload(code, "why")))
    }

    @Test(
        "§7.4: codes that may not be on the wire fail the connection, and are never sent",
        arguments: invalidCodes)
    func invalid(code: UInt16) {
        let client = Endpoint()
        #expect(client.receive(frame(0x88, Self.payload(code))) == [.failed(1002, "RFC 6455 §7.4")])
        let other = Endpoint()
        #expect(throws: SendError.invalidCloseCode(code)) { try other.close(code) }
        #expect(other.written() == [])
        #expect(other.connection.closing == .notBegun)
    }

    @Test("E1: an empty close is answered with an empty close and has no code")
    func empty() {
        let client = Endpoint()
        #expect(client.receive([0x88, 0x00]) == [.close(nil, "")])
        #expect(client.written() == frame(0x88, [], mask: Self.mask))
        let none = CloseFrame(code: nil)
        #expect(client.connection.closing == .complete(sent: none, received: none, first: .peer))
        #expect(!client.isInsideMessage)
    }

    @Test("E1: one byte is no code; data behind a close frame is not delivered")
    func halfCodeAndLateData() {
        #expect(Endpoint().receive([0x88, 0x01, 0x03]) == [.failed(1002, "RFC 6455 §5.5.1")])
        let client = Endpoint()
        #expect(client.receive([0x88, 0x02, 0x03, 0xE8, 0x81, 0x01, 0x61]) == [.close(1000, "")])
        // Not even looked at.
        #expect(client.receive([0xFF, 0xFF, 0xFF]) == [])
    }

    @Test("We close first: both codes, and that we were first")
    func weCloseFirst() throws {
        let client = Endpoint()
        try client.close(1001, "bye")
        #expect(client.connection.closing == .sent(CloseFrame(code: .goingAway, reason: "bye")))
        #expect(client.written() == frame(0x88, Self.payload(1001, "bye"), mask: Self.mask))
        #expect(client.receive(frame(0x88, Self.payload(4000, "ok"))) == [.close(4000, "ok")])
        #expect(
            client.connection.closing
                == .complete(
                    sent: CloseFrame(code: .goingAway, reason: "bye"),
                    received: CloseFrame(code: CloseCode(rawValue: 4000), reason: "ok"), first: .us))
        // One close frame each, no more.
        #expect(client.written() == [])
        #expect(throws: SendError.closed) { try client.close(1000) }
    }

    @Test("The peer closes first: what waited is written before the answer, nothing after it")
    func peerClosesFirst() throws {
        let server = Endpoint(.server)
        try server.send("queued")
        #expect(server.receive(frame(0x88, Self.payload(1000, "x"), mask: Self.mask)) == [.close(1000, "x")])
        #expect(server.connection.closing.received == CloseFrame(code: .normalClosure, reason: "x"))
        #expect(throws: SendError.closed) { try server.send("late") }
        #expect(throws: SendError.closed) { try server.ping([]) }
        #expect(throws: SendError.closed) { try server.pong([]) }
        #expect(throws: SendError.closed) { try server.sendPiece(.text, [], isFirst: true) }
        #expect(server.written() == frame(0x81, "queued") + frame(0x88, Self.payload(1000)))
    }

    @Test("Between our close and the peer's: messages are checked, not delivered; pings are not answered")
    func afterOurClose() throws {
        let client = Endpoint()
        #expect(client.receive(frame(0x01, "begun")) == [])
        try client.close(1000)
        _ = client.written()
        #expect(client.receive(frame(0x80, "ended") + frame(0x81, "whole") + frame(0x82, [1])) == [])
        #expect(client.receive(frame(0x89, "p")) == [.ping(Array("p".utf8))])
        #expect(client.written() == [])
        #expect(client.receive(frame(0x88, Self.payload(1000))) == [.close(1000, "")])

        let other = Endpoint()
        try other.close(1000)
        _ = other.written()
        #expect(other.receive([0x81, 0x01, 0xFF]) == [.failed(1007, "RFC 6455 §8.1")])
        // A close frame went out before; there is only one.
        #expect(other.written() == [])
        #expect(other.connection.closing == .failed(sent: CloseFrame(code: .normalClosure)))
    }

    @Test("A close frame inside a message ends the message")
    func closeInsideMessage() {
        let client = Endpoint()
        #expect(client.receive(frame(0x01, "part") + frame(0x88)) == [.close(nil, "")])
        #expect(!client.isInsideMessage)
    }

    @Test("A reason is at most 123 bytes, and needs a code")
    func reasons() throws {
        let longest = String(repeating: "é", count: 61) + "a"
        let server = Endpoint(.server)
        try server.close(1000, longest)
        #expect(Endpoint().receive(server.written()) == [.close(1000, longest)])
        let other = Endpoint()
        #expect(throws: SendError.reasonTooLong(124)) { try other.close(1000, longest + "b") }
        #expect(throws: SendError.invalidCloseCode(1005)) { try other.close(nil, "why") }
        try other.close(nil)
        #expect(other.written() == frame(0x88, [], mask: Self.mask))
    }

    @Test("Whether the transport's end would cut a message")
    func insideMessage() {
        let client = Endpoint()
        #expect(!client.isInsideMessage)
        for cut in [[0x81], [0x05], [0x48, 0x65]] as [[UInt8]] {
            client.receive(cut)
            #expect(client.isInsideMessage)
        }
        client.receive(Array("llo".utf8))
        #expect(!client.isInsideMessage)
        client.receive(frame(0x01, "a"))
        #expect(client.isInsideMessage)
    }

    @Test("§7.1.3: both close at once: each has the other's close frame, and neither sends a second one")
    func simultaneous() throws {
        let client = Endpoint()
        let server = Endpoint(.server)
        try client.close(4001, "c")
        try server.close(4002, "s")
        let (ours, theirs) = (client.written(), server.written())
        #expect(client.receive(theirs) == [.close(4002, "s")])
        #expect(server.receive(ours) == [.close(4001, "c")])
        #expect(client.written() == [] && server.written() == [])
        let (c, s) = (
            CloseFrame(code: CloseCode(rawValue: 4001), reason: "c"),
            CloseFrame(code: CloseCode(rawValue: 4002), reason: "s")
        )
        #expect(client.connection.closing == .complete(sent: c, received: s, first: .us))
        #expect(server.connection.closing == .complete(sent: s, received: c, first: .us))
    }

    @Test("A violation after our close, as a server: it ends reading, and no second close frame goes out")
    func violationAfterClose() throws {
        let server = Endpoint(.server)
        try server.close(1000)
        #expect(server.written() == frame(0x88, Self.payload(1000)))
        #expect(server.receive([0x81, 0x00]) == [.failed(1002, "RFC 6455 §5.1")])
        #expect(server.written() == [])
        #expect(server.receive(frame(0x88, [], mask: Self.mask)) == [])
        #expect(server.connection.closing == .failed(sent: CloseFrame(code: .normalClosure)))
    }

    @Test("§10.4: what comes behind our close is dropped, and still held against the limits")
    func limitsAfterClose() throws {
        var limits = Limits()
        limits.maxMessageBytes = 10
        let client = Endpoint(limits: limits)
        try client.close(1000)
        let six = [UInt8](repeating: 1, count: 6)
        #expect(client.receive(frame(0x02, six)) == [])
        #expect(client.receive(frame(0x80, six)) == [.failed(1009, "RFC 6455 §10.4")])
    }
}
