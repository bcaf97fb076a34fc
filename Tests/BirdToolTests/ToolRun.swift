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

/// The lines of a pipe as they come, for one reader, who waits for them.
final class LineReader: Sendable {
    private struct State {
        var lines: [String] = []
        var hasEnded = false
        var waiting: CheckedContinuation<String?, Never>?
    }

    private let state = Mutex(State())

    init(_ handle: FileHandle) {
        let descriptor = dup(handle.fileDescriptor)
        // A read blocks, so it has a thread of its own, which ends with the pipe.
        let thread = Thread { [self] in
            guard let file = fdopen(descriptor, "r") else { return end() }
            var line: UnsafeMutablePointer<CChar>?
            var capacity = 0
            while case let count = getline(&line, &capacity, file), count > 0, let bytes = line {
                let text = String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
                add(text.hasSuffix("\n") ? String(text.dropLast()) : text)
            }
            free(line)
            fclose(file)
            end()
        }
        thread.start()
    }

    private func add(_ line: String) {
        state.withLock { state in
            if let waiting = state.waiting.take() {
                waiting.resume(returning: line)
            } else {
                state.lines.append(line)
            }
        }
    }

    private func end() {
        state.withLock { state in
            state.hasEnded = true
            state.waiting.take()?.resume(returning: nil)
        }
    }

    /// The next line; nil at the end.
    func next() async -> String? {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                if !state.lines.isEmpty {
                    continuation.resume(returning: state.lines.removeFirst())
                } else if state.hasEnded {
                    continuation.resume(returning: nil)
                } else {
                    state.waiting = continuation
                }
            }
        }
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

    subscript(key: String) -> String? { object[key] as? String }
    subscript(key: String) -> Int? { (object[key] as? NSNumber)?.intValue }
    subscript(key: String) -> Bool? { object[key] as? Bool }
    subscript(key: String) -> [String: Any]? { object[key] as? [String: Any] }

    func has(_ key: String) -> Bool { object[key] != nil }
}

extension LineReader {
    /// Reads on to the first line in which each of these keys has this text; nil when the output ends before.
    func line(_ wanted: [String: String]) async -> OutputLine? {
        while let text = await next() {
            guard let line = OutputLine(text) else { continue }
            if wanted.allSatisfy({ key, value in line[key] == value }) { return line }
        }
        return nil
    }

    /// The first event of this name.
    func event(_ name: String) async -> OutputLine? {
        await line(["event": name])
    }

    /// The first transition to this state.
    func state(_ name: String) async -> OutputLine? {
        await line(["type": "state", "current": name])
    }

    /// The first line of this type.
    func type(_ name: String) async -> OutputLine? {
        await line(["type": name])
    }
}
