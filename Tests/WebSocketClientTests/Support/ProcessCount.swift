import Foundation

/// What this process has open; for tests that run in one of their own.
enum ProcessCount {
    static var sockets: Int {
        let directory = "/proc/self/fd"
        return names(in: directory).count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\(name)")
            return target?.hasPrefix("socket:") == true
        }
    }

    static var threads: Int { names(in: "/proc/self/task").count }

    /// Threads of this package, which it names: the loop's, and those that look names up.
    static var ownThreads: Int {
        names(in: "/proc/self/task").count { name in
            let text = try? String(contentsOfFile: "/proc/self/task/\(name)/comm", encoding: .utf8)
            return text?.hasPrefix("bird-") == true
        }
    }

    private static func names(in directory: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    }
}
