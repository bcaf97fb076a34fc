/// The words of one subcommand, split by its specification into options and operands.
///
/// `--name value` and `--name=value` are the same; `--` ends the options.
struct Arguments: Sendable {
    private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]

    init(_ words: [String], for specification: CommandSpecification) throws(UsageError) {
        var rest = words[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("-"), word != "-" else {
                operands.append(word)
                continue
            }
            if word == "--" {
                operands += rest
                break
            }
            if word == "--help" || word == "-h" {
                values["--help"] = [""]
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard let option = specification.options.first(where: { $0.name == name }) else {
                throw UsageError("there is no option \(name)")
            }
            guard let placeholder = option.value else {
                guard parts.count == 1 else { throw UsageError("\(name) takes no value") }
                values[name] = [""]
                continue
            }
            guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
                throw UsageError("\(name) wants a value: \(name) \(placeholder)")
            }
            guard option.repeats || values[name] == nil else {
                throw UsageError("\(name) is given twice")
            }
            values[name, default: []].append(value)
        }
    }

    func has(_ name: String) -> Bool { values[name] != nil }

    func text(_ name: String) -> String? { values[name]?.last }

    func texts(_ name: String) -> [String] { values[name] ?? [] }

    /// A number of seconds above zero, fractions allowed.
    func seconds(_ name: String) throws(UsageError) -> Double? {
        guard let text = text(name) else { return nil }
        // A year is more than anybody waits, and far below what a Duration can hold.
        guard let number = Double(text), number > 0, number <= 31_536_000 else {
            throw UsageError("\(name) wants a number of seconds above 0, not '\(text)'")
        }
        return number
    }

    func count(_ name: String) throws(UsageError) -> Int? {
        guard let text = text(name) else { return nil }
        guard let number = Int(text), number > 0 else {
            throw UsageError("\(name) wants a whole number above 0, not '\(text)'")
        }
        return number
    }

    func port(_ name: String) throws(UsageError) -> UInt16? {
        guard let text = text(name) else { return nil }
        guard let port = UInt16(text) else {
            throw UsageError("\(name) wants a port from 0 to 65535, not '\(text)'")
        }
        return port
    }

    /// Options of the form `name: value`, in the order given.
    func headers(_ name: String) throws(UsageError) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        for text in texts(name) {
            guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else {
                throw UsageError("\(name) wants 'name: value', not '\(text)'")
            }
            let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            headers.append((String(text[..<colon]), String(value)))
        }
        return headers
    }
}
