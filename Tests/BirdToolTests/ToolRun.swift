import Foundation
import Synchronization

/// One run of the `bird` tool, with its streams in our hands.
final class ToolRun: Sendable {
    private let process = Process()
    private let input = Pipe()
    private let ended: AsyncStream<Int32>
    /// Lines of stdout, for one reader.
    let output: LineReader
    /// Everything on stderr, once the run is over.
    let errors: LineReader

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        let directory = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        process.executableURL = directory.appendingPathComponent("bird")
        process.arguments = arguments
        var variables = ProcessInfo.processInfo.environment
        variables["BIRD_APP_KEY"] = nil
        variables["BIRD_REGION"] = nil
        process.environment = variables.merging(environment) { $1 }
        let (out, err) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = out
        process.standardError = err
        output = LineReader(out.fileHandleForReading)
        errors = LineReader(err.fileHandleForReading)
        let (ended, ending) = AsyncStream.makeStream(of: Int32.self)
        self.ended = ended
        process.terminationHandler = { process in
            ending.yield(process.terminationStatus)
            ending.finish()
        }
        try process.run()
    }

    deinit {
        if process.isRunning { process.terminate() }
    }

    func type(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    func endInput() throws {
        try input.fileHandleForWriting.close()
    }

    /// SIGTERM.
    func stop() {
        process.terminate()
    }

    /// The exit code, once the tool has ended.
    func exitCode() async -> Int32 {
        for await status in ended { return status }
        return -1
    }
}

/// The lines of a pipe as they come; reading one waits for it.
final class LineReader: Sendable {
    private let lines: AsyncStream<String>
    private let iterator: Mutex<AsyncStream<String>.Iterator>

    init(_ handle: FileHandle) {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        iterator = Mutex(lines.makeAsyncIterator())
        let thread = Thread {
            var rest = Data()
            while true {
                let data = handle.availableData
                if data.isEmpty { break }
                rest.append(data)
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    continuation.yield(String(decoding: rest[..<end], as: UTF8.self))
                    rest = Data(rest[(end + 1)...])
                }
            }
            if !rest.isEmpty { continuation.yield(String(decoding: rest, as: UTF8.self)) }
            continuation.finish()
        }
        thread.start()
    }

    /// The next line; nil at the end.
    func next() async -> String? {
        // One reader at a time: the copy shares the stream's place.
        var iterator = iterator.withLock { $0 }
        return await iterator.next()
    }

    /// The lines up to the end.
    func rest() async -> [String] {
        var all: [String] = []
        while let line = await next() { all.append(line) }
        return all
    }
}

/// One line of the tool's machine output.
struct OutputLine: CustomStringConvertible {
    let text: String
    // What JSONSerialization gives is not changed after it was made.
    private let object: [String: Any]

    init?(_ text: String) {
        let value = try? JSONSerialization.jsonObject(with: Data(text.utf8))
        guard let object = value as? [String: Any] else { return nil }
        self.text = text
        self.object = object
    }

    var type: String { self["type"] ?? "" }
    var description: String { text }

    subscript<Value>(key: String) -> Value? { object[key] as? Value }

    func has(_ key: String) -> Bool { object[key] != nil }
}

extension LineReader {
    /// Reads on to the first line that fits; nil when the output ends before.
    func first(where fits: (OutputLine) -> Bool) async -> OutputLine? {
        while let text = await next() {
            if let line = OutputLine(text), fits(line) { return line }
        }
        return nil
    }
}
