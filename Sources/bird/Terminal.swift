import Foundation
import Synchronization

/// The tool's two streams: machine output on stdout, people's words on stderr.
///
/// Lines are written whole and at once, from any thread. When nobody reads stdout any more there is nothing
/// left to do, and the tool ends.
enum Terminal {
    private static let turn = Mutex<Void>(())

    /// Whether stdout is a screen somebody looks at.
    static let isScreen = isatty(STDOUT_FILENO) == 1

    static func print(_ line: String) {
        write(line + "\n", to: STDOUT_FILENO)
    }

    static func note(_ line: String) {
        write(line + "\n", to: STDERR_FILENO)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        let isWritten = turn.withLock { _ in
            text.withUTF8 { bytes in
                var rest = UnsafeRawBufferPointer(bytes)
                while !rest.isEmpty {
                    let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                    if count > 0 {
                        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                    } else if errno != EINTR {
                        return false
                    }
                }
                return true
            }
        }
        if !isWritten, descriptor == STDOUT_FILENO { exit(ExitCode.failed.rawValue) }
    }
}

/// Colours for a person's screen; nothing where there is none.
enum Style: String {
    case dim = "2"
    case bold = "1"
    case green = "32"
    case yellow = "33"
    case red = "31"
    case cyan = "36"

    func callAsFunction(_ text: String) -> String {
        "\u{1B}[\(rawValue)m\(text)\u{1B}[0m"
    }
}
