import WebSocketCore

/// Reads one answer of an HTTP/1.1 server, cut anywhere: the head, then a body framed as RFC 9112 §6 says. An answer
/// that ends early is told apart from a whole one.
struct HTTPAnswerParser: Sendable {
    /// Why an answer cannot be used.
    struct Fault: Error, Hashable, Sendable {
        var message: String
    }

    /// Authorizations are short: more than this is not one.
    static let maxBodyBytes = 1 << 20

    private enum State: Sendable {
        case head(HTTPHeadParser)
        case counted(left: Int)
        case chunkSize(line: [UInt8])
        case chunk(left: Int)
        /// The CR LF behind a chunk.
        case chunkEnd(left: Int)
        case trailer(line: [UInt8])
        case untilEnd
        case done
    }

    private var state = State.head(HTTPHeadParser(limits: Limits()))
    private var status = 0
    private var body: [UInt8] = []

    /// Takes what has been read. An answer, once it is whole.
    mutating func receive(_ input: UnsafeRawBufferPointer) throws(Fault) -> AuthAnswer? {
        var offset = 0
        while true {
            if case .done = state { return AuthAnswer(status: status, body: body) }
            guard offset < input.count else { return nil }
            try step(input, &offset)
        }
    }

    /// The server sends no more. `isClean` false: somebody between may have cut it off.
    mutating func end(isClean: Bool) throws(Fault) -> AuthAnswer {
        switch state {
        case .done:
            return AuthAnswer(status: status, body: body)
        case .untilEnd where isClean:
            state = .done
            return AuthAnswer(status: status, body: body)
        case .head:
            throw Fault(message: "the connection ended before an answer came")
        case .counted, .chunkSize, .chunk, .chunkEnd, .trailer, .untilEnd:
            throw Fault(message: "the answer ended early")
        }
    }

    private mutating func step(_ input: UnsafeRawBufferPointer, _ offset: inout Int) throws(Fault) {
        switch state {
        case .head(var parser):
            let head: HTTPHead?
            do {
                head = try parser.receive(input, at: &offset)
            } catch {
                throw Fault(message: error.message)
            }
            state = .head(parser)
            if let head { try begin(head) }
        case .counted(let left):
            let taken = try take(left, input, &offset)
            state = taken == left ? .done : .counted(left: left - taken)
        case .untilEnd:
            _ = try take(input.count - offset, input, &offset)
        case .chunkSize(let line):
            guard let line = try gather(line, input, &offset) else { return }
            let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != 0x0D && $0 != 0x20 }
            guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size >= 0 else {
                throw Fault(message: "the answer has a chunk without a size")
            }
            state = size == 0 ? .trailer(line: []) : .chunk(left: size)
        case .chunk(let left):
            let taken = try take(left, input, &offset)
            state = taken == left ? .chunkEnd(left: 2) : .chunk(left: left - taken)
        case .chunkEnd(let left):
            offset += 1
            state = left == 1 ? .chunkSize(line: []) : .chunkEnd(left: left - 1)
        case .trailer(let line):
            guard let line = try gather(line, input, &offset) else { return }
            state = line.isEmpty || line == [0x0D] ? .done : .trailer(line: [])
        case .done:
            break
        }
    }

    private mutating func begin(_ head: HTTPHead) throws(Fault) {
        let words = head.firstLine.split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3,
            let code = Int(words[1]), (100..<600).contains(code)
        else { throw Fault(message: "the answer is not HTTP/1.1") }
        // RFC 9110 §15.2: an interim answer is followed by the real one.
        if code < 200 {
            state = .head(HTTPHeadParser(limits: Limits()))
            return
        }
        status = code
        if code == 204 || code == 304 {
            state = .done
        } else if head.fields.list("Transfer-Encoding", contains: "chunked") {
            state = .chunkSize(line: [])
        } else if let text = head.fields["Content-Length"] {
            guard let count = Int(text), count >= 0 else {
                throw Fault(message: "the answer has an unreadable Content-Length")
            }
            state = count == 0 ? .done : .counted(left: count)
        } else {
            state = .untilEnd
        }
    }

    private mutating func take(
        _ most: Int, _ input: UnsafeRawBufferPointer, _ offset: inout Int
    ) throws(Fault) -> Int {
        let count = min(most, input.count - offset)
        guard body.count + count <= HTTPAnswerParser.maxBodyBytes else {
            throw Fault(message: "the answer is larger than \(HTTPAnswerParser.maxBodyBytes) bytes")
        }
        body.append(contentsOf: input[offset..<offset + count])
        offset += count
        return count
    }

    /// A line without its LF, once it is whole.
    private mutating func gather(
        _ begun: [UInt8], _ input: UnsafeRawBufferPointer, _ offset: inout Int
    ) throws(Fault) -> [UInt8]? {
        var line = begun
        while offset < input.count {
            let byte = input[offset]
            offset += 1
            if byte == 0x0A { return line }
            line.append(byte)
            guard line.count <= 8192 else { throw Fault(message: "the answer has a line that does not end") }
        }
        switch state {
        case .chunkSize: state = .chunkSize(line: line)
        case .trailer: state = .trailer(line: line)
        case .head, .counted, .chunk, .chunkEnd, .untilEnd, .done: break
        }
        return nil
    }
}
