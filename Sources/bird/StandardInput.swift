import Foundation

/// Lines typed or piped into the tool.
enum StandardInput {
    /// Each line without its end. Reading happens on a thread of its own, since a read of stdin cannot be
    /// interrupted; the sequence ends with the input.
    static func lines() -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let thread = Thread {
            while let line = readLine(strippingNewline: true) {
                continuation.yield(line)
            }
            continuation.finish()
        }
        thread.name = "stdin"
        thread.start()
        return lines
    }
}
