import Glibc
import SystemIO

/// A directory of its own for one test, removed with the value. Files only, no folders inside.
struct TemporaryFolder: ~Copyable {
    let path: String
    private var names: [String] = []

    init() throws {
        var template = Array("/tmp/tls-test-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw SystemError(errno: errno, operation: "mkdtemp") }
        path = String(cString: made)
    }

    deinit {
        for name in names { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    /// The new file's path.
    @discardableResult
    mutating func write(_ text: String, to name: String) throws -> String {
        names.append(name)
        let file = "\(path)/\(name)"
        guard let stream = fopen(file, "w") else {
            throw SystemError(errno: errno, operation: "open \(file)")
        }
        defer { fclose(stream) }
        guard fputs(text, stream) >= 0 else { throw SystemError(errno: errno, operation: "write \(file)") }
        return file
    }
}
