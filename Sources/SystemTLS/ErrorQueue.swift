internal import CSystemShims

/// OpenSSL's queue of errors, one a thread. It is emptied before each call, so that no call sees another's errors.
enum ErrorQueue {
    static func clear() {
        OpenSSLStart.ensure()
        ERR_clear_error()
    }

    struct Entry {
        let library: Int32
        let reason: Int32
        let text: String
    }

    /// The errors of the last call, the first one first; the queue is empty afterwards.
    static func take() -> [Entry] {
        var entries: [Entry] = []
        while case let code = ERR_get_error(), code != 0 {
            let text = ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
            entries.append(
                Entry(library: shim_error_library(code), reason: shim_error_reason(code), text: text))
        }
        return entries
    }

    static func words() -> String {
        let texts = take().map(\.text)
        return texts.isEmpty ? "no reason given" : texts.joined(separator: "; ")
    }
}
