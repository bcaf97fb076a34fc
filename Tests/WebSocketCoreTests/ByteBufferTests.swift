import Testing
import WebSocketCore

@Suite("The byte queue")
struct ByteBufferTests {
    @Test("Random appending, inserting, consuming and cutting, against an array", arguments: UInt64(1)...10)
    func random(seed: UInt64) {
        var random = Seeded(seed)
        var buffer = ByteBuffer()
        var model: [UInt8] = []
        for _ in 0..<1_000 {
            let bytes = random.bytes(Int.random(in: 0...300, using: &random))
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1:
                buffer.append(bytes)
                model += bytes
            case 2:
                buffer.append(7)
                model.append(7)
            case 3:
                buffer.append(upTo: 400) { room in
                    room.copyBytes(from: bytes)
                    return bytes.count
                }
                model += bytes
            case 4:
                let place = Int.random(in: 0...model.count, using: &random)
                bytes.withUnsafeBytes { buffer.insert($0, at: place) }
                model.insert(contentsOf: bytes, at: place)
            case 5, 6:
                let count = Int.random(in: 0...min(model.count, 500), using: &random)
                buffer.consume(count)
                model.removeFirst(count)
            default:
                let count = Int.random(in: max(model.count - 50, 0)...model.count, using: &random)
                buffer.truncate(to: count)
                model.removeLast(model.count - count)
            }
            let isEqual = buffer.copied() == model
            guard isEqual else {
                Issue.record("differs from the model, seed \(seed)")
                return
            }
        }
    }

    @Test("Towards a ceiling it grows to half of it by doubling, then to all of it, never further")
    func ceiling() {
        let ceiling = 1 << 20
        var buffer = ByteBuffer(ceiling: ceiling)
        let piece = [UInt8](repeating: 1, count: 1 << 10)
        var sizes: Set<Int> = []
        for _ in 0..<1 << 10 {
            buffer.append(piece)
            sizes.insert(buffer.allocatedByteCount)
        }
        #expect(sizes.filter { $0 > ceiling / 2 } == [ceiling])
    }

    @Test("Memory is kept or given back as asked")
    func memory() {
        var buffer = ByteBuffer()
        buffer.append([UInt8](repeating: 1, count: 1000))
        buffer.removeAll(keeping: 4096)
        let kept = buffer.allocatedByteCount
        buffer.removeAll()
        let left = buffer.allocatedByteCount
        #expect(kept >= 1000 && left == 0)
    }
}
