import Foundation

/// One object of the tool's NDJSON output, its keys in the order they were added.
///
/// Values that are JSON already go in as their own text, so that numbers keep every digit.
struct JSONLine {
    private var text = "{"

    init(type: String) {
        add("type", type)
    }

    mutating func add(_ key: String, _ value: String) {
        add(key, json: Self.quoted(value))
    }

    mutating func add(_ key: String, _ value: Bool) {
        add(key, json: value ? "true" : "false")
    }

    mutating func add(_ key: String, _ value: Int) {
        add(key, json: String(value))
    }

    mutating func add(_ key: String, json: String) {
        if text.utf8.count > 1 { text += "," }
        text += Self.quoted(key) + ":" + json
    }

    /// The finished object, stamped with the moment it was made (RFC 3339, milliseconds, UTC).
    func finished(at date: Date = Date()) -> String {
        var line = self
        line.add("at", Self.timestamp(date))
        return line.text + "}"
    }

    static func quoted(_ value: String) -> String {
        var result = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\u{0}"..<" ":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    static func array(_ values: [String]) -> String {
        "[" + values.map(quoted).joined(separator: ",") + "]"
    }

    /// A decoded value as JSON text again; what is no JSON becomes its description.
    static func text(of value: Any?) -> String {
        guard let value else { return "null" }
        let wrapped: [Any] = [value]
        guard JSONSerialization.isValidJSONObject(wrapped),
            let data = try? JSONSerialization.data(
                withJSONObject: value, options: [.fragmentsAllowed, .sortedKeys])
        else { return quoted(String(describing: value)) }
        return String(decoding: data, as: UTF8.self)
    }

    static func timestamp(_ date: Date) -> String {
        date.formatted(
            Date.ISO8601FormatStyle(timeZone: TimeZone(secondsFromGMT: 0) ?? .current)
                .year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted))
    }
}
