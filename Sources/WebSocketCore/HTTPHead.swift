/// The head of an HTTP/1.1 message: its first line and its fields.
package struct HTTPHead: Sendable, Equatable {
    package var firstLine: String
    package var fields: HTTPFields
}

/// A head that cannot be used.
public struct HTTPHeadError: Error, Sendable, Equatable {
    /// What is wrong with it, in a sentence.
    public var message: String

    package init(_ message: String) {
        self.message = message
    }
}

/// Gathers a head out of pieces cut anywhere, in time linear in its size (RFC 9112 §2, §5).
///
/// Lines end with CR LF; a bare LF, a bare CR and folded lines are refused, since they are what smuggling is made of.
package struct HTTPHeadParser: Sendable {
    private let maxBytes: Int
    private let maxFields: Int
    private var bytes: [UInt8] = []
    /// How much of `bytes` is known not to hold the head's end.
    private var searched = 0

    package init(limits: Limits) {
        maxBytes = limits.maxHeadBytes
        maxFields = limits.maxHeadFields
    }

    /// Takes bytes from `input` at `offset`, no further than the head's end. nil: more are needed.
    package mutating func receive(
        _ input: UnsafeRawBufferPointer, at offset: inout Int
    ) throws(HTTPHeadError) -> HTTPHead? {
        let before = bytes.count
        // One byte above the limit is enough to know that it is exceeded.
        let room = maxBytes - before
        let piece = input[offset..<(input.count - offset > room ? offset + room + 1 : input.count)]
        bytes.append(contentsOf: piece)
        guard let end = findEnd() else {
            offset += piece.count
            if bytes.count > maxBytes {
                throw HTTPHeadError("the head is larger than maxHeadBytes, \(maxBytes)")
            }
            return nil
        }
        guard end <= maxBytes else {
            throw HTTPHeadError("the head is larger than maxHeadBytes, \(maxBytes)")
        }
        offset += end - before
        return try parse(bytes[..<(end - 2)])
    }

    /// Where the empty line ends. An empty head (CR LF first) is left to the parser to refuse.
    private mutating func findEnd() -> Int? {
        var index = max(searched - 3, 0)
        defer { searched = bytes.count }
        while index + 3 < bytes.count {
            if bytes[index + 3] > 0x0D {
                // Nothing that ends here or before can be the empty line.
                index += 4
            } else if bytes[index] == 0x0D, bytes[index + 1] == 0x0A, bytes[index + 2] == 0x0D,
                bytes[index + 3] == 0x0A
            {
                return index + 4
            } else {
                index += 1
            }
        }
        return nil
    }

    private func parse(_ head: ArraySlice<UInt8>) throws(HTTPHeadError) -> HTTPHead {
        var lines: [ArraySlice<UInt8>] = []
        var start = head.startIndex
        var index = start
        while index < head.endIndex {
            switch head[index] {
            case 0x0D:
                guard index + 1 < head.endIndex, head[index + 1] == 0x0A else {
                    throw HTTPHeadError("the head has a CR without its LF")
                }
                lines.append(head[start..<index])
                index += 2
                start = index
            case 0x0A: throw HTTPHeadError("the head has an LF without its CR")
            case 0: throw HTTPHeadError("the head has a NUL in it")
            default: index += 1
            }
        }
        guard let first = lines.first, !first.isEmpty else {
            throw HTTPHeadError("the head has no first line")
        }
        guard lines.count - 1 <= maxFields else {
            throw HTTPHeadError("the head has more fields than maxHeadFields, \(maxFields)")
        }
        var fields = HTTPFields()
        for line in lines.dropFirst() {
            let (name, value) = try field(line)
            fields.append(name, value)
        }
        return HTTPHead(firstLine: String(decoding: first, as: UTF8.self), fields: fields)
    }

    private func field(_ line: ArraySlice<UInt8>) throws(HTTPHeadError) -> (String, String) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
            line[..<colon].allSatisfy(HTTPGrammar.isTokenByte)
        else {
            let shown = String(decoding: line.prefix(40), as: UTF8.self)
            throw HTTPHeadError("the head has a line that is no header field: '\(shown)'")
        }
        let value = String(decoding: line[(colon + 1)...], as: UTF8.self).trimmingWhitespace()
        return (String(decoding: line[..<colon], as: UTF8.self), value)
    }
}
