/// The start of a refusal's body, framed as RFC 9112 §6 says: by chunks, by a length, or by the connection's end.
struct RefusalBody: Sendable {
    private(set) var bytes: [UInt8] = []
    private let limit: Int
    private var framing: Framing

    private enum Framing {
        case counted(left: Int)
        case chunkSize(line: [UInt8])
        /// The chunk's own bytes, and the CR LF behind it.
        case chunk(left: Int)
        case untilEnd
    }

    init(_ fields: HTTPFields, status: Int, limit: Int) {
        self.limit = limit
        if status == 204 || status == 304 {
            framing = .counted(left: 0)
        } else if fields.list("Transfer-Encoding", contains: "chunked") {
            framing = .chunkSize(line: [])
        } else if let length = fields["Content-Length"], let count = Int(length), count >= 0 {
            framing = .counted(left: count)
        } else {
            framing = .untilEnd
        }
    }

    /// Takes what `input` has. True: there is all that will be kept.
    mutating func receive(_ input: UnsafeRawBufferPointer, at offset: inout Int) -> Bool {
        while bytes.count < limit {
            switch framing {
            case .counted(let left):
                if left == 0 { return true }
                let taken = take(left, input, &offset)
                if taken == 0 { return false }
                framing = .counted(left: left - taken)
            case .chunkSize(var line):
                guard offset < input.count else { return false }
                let byte = input[offset]
                offset += 1
                if byte != 0x0A {
                    line.append(byte)
                    // No size needs so long a line: the rest is not worth reading.
                    if line.count > 64 { return true }
                    framing = .chunkSize(line: line)
                    continue
                }
                let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != 0x0D && $0 != 0x20 }
                guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size > 0 else {
                    return true
                }
                framing = .chunk(left: size &+ 2)
            case .chunk(let left):
                if left <= 0 {
                    framing = .chunkSize(line: [])
                    continue
                }
                let taken = left > 2 ? take(left - 2, input, &offset) : skip(left, input, &offset)
                if taken == 0 { return false }
                framing = .chunk(left: left - taken)
            case .untilEnd:
                return take(limit, input, &offset) == 0 ? false : bytes.count >= limit
            }
        }
        return true
    }

    private mutating func take(_ most: Int, _ input: UnsafeRawBufferPointer, _ offset: inout Int) -> Int {
        let count = min(most, input.count - offset, limit - bytes.count)
        bytes.append(contentsOf: input[offset..<offset + count])
        offset += count
        return count
    }

    private func skip(_ most: Int, _ input: UnsafeRawBufferPointer, _ offset: inout Int) -> Int {
        let count = min(most, input.count - offset)
        offset += count
        return count
    }
}
