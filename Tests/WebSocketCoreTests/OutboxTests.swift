import Testing
@testable import WebSocketCore

@Suite("Outbox")
struct OutboxTests {
    private static func bytes(_ outbox: inout Outbox) -> [UInt8] {
        outbox.withUnsafeBytes { Array($0) }
    }

    private static func filled() -> Outbox {
        var outbox = Outbox()
        for number in 0..<4 {
            [UInt8](repeating: UInt8(number), count: 3 + number).withUnsafeBytes {
                outbox.append(.binary, payload: $0, maskKey: nil)
            }
        }
        return outbox
    }

    @Test(
        "bytes that TLS has encrypted stay as they are, and a ping goes in behind the frame in which they end"
    )
    func commit() {
        var plain = Self.filled()
        let frames = Self.bytes(&plain)
        let boundaries = [0, 5, 11, 18, 26]
        for count in 0...frames.count {
            var outbox = Self.filled()
            outbox.commit(count)
            [UInt8]("hi".utf8).withUnsafeBytes { outbox.expedite(.ping, payload: $0, maskKey: nil) }
            let place = boundaries.first { $0 >= count } ?? frames.count
            let expected = frames[..<place] + [0x89, 0x02, 0x68, 0x69] + frames[place...]
            #expect(Self.bytes(&outbox) == Array(expected), "\(count) bytes committed")
        }
    }

    @Test("written in any pieces, a ping never goes inside a frame that has been begun")
    func written() {
        var plain = Self.filled()
        let frames = Self.bytes(&plain)
        for count in 1..<frames.count {
            var outbox = Self.filled()
            outbox.consume(count)
            [UInt8]().withUnsafeBytes { outbox.expedite(.ping, payload: $0, maskKey: nil) }
            let place = [0, 5, 11, 18, 26].first { $0 >= count } ?? frames.count
            #expect(Self.bytes(&outbox) == Array(frames[count..<place] + [0x89, 0x00] + frames[place...]))
        }
    }
}
