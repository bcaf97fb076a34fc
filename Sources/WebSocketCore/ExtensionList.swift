/// The value of Sec-WebSocket-Extensions (RFC 6455 §9.1): extensions with parameters, in order of preference.
package struct ExtensionList: Sendable, Equatable {
    package struct Element: Sendable, Equatable {
        package var name: String
        package var parameters: [Parameter]
    }

    package struct Parameter: Sendable, Equatable {
        package var name: String
        package var value: String?
    }

    package var elements: [Element] = []

    /// nil where the text does not follow the grammar.
    package init?(_ text: String) {
        var scanner = Scanner(bytes: Array(text.utf8))
        repeat {
            scanner.skipWhitespace()
            // RFC 9110 §5.6.1.2: empty elements of a list are ignored.
            if scanner.isAtEnd { break }
            if scanner.next(is: ",") { continue }
            guard let name = scanner.token() else { return nil }
            var element = Element(name: name, parameters: [])
            scanner.skipWhitespace()
            while scanner.take(";") {
                scanner.skipWhitespace()
                guard let name = scanner.token() else { return nil }
                scanner.skipWhitespace()
                var value: String?
                if scanner.take("=") {
                    scanner.skipWhitespace()
                    guard let text = scanner.tokenOrQuoted() else { return nil }
                    value = text
                    scanner.skipWhitespace()
                }
                element.parameters.append(Parameter(name: name, value: value))
            }
            elements.append(element)
        } while scanner.take(",")
        guard scanner.isAtEnd else { return nil }
    }

    private struct Scanner {
        let bytes: [UInt8]
        var index = 0

        var isAtEnd: Bool { index == bytes.count }

        func next(is character: Unicode.Scalar) -> Bool {
            index < bytes.count && bytes[index] == UInt8(ascii: character)
        }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard next(is: character) else { return false }
            index += 1
            return true
        }

        mutating func skipWhitespace() {
            while next(is: " ") || next(is: "\t") { index += 1 }
        }

        mutating func token() -> String? {
            let start = index
            while index < bytes.count, HTTPGrammar.isTokenByte(bytes[index]) { index += 1 }
            return index == start ? nil : String(decoding: bytes[start..<index], as: UTF8.self)
        }

        /// RFC 6455 §9.1: a quoted value must be a token once its quotes and escapes are gone.
        mutating func tokenOrQuoted() -> String? {
            guard take("\"") else { return token() }
            var value: [UInt8] = []
            while index < bytes.count {
                if take("\"") {
                    let text = String(decoding: value, as: UTF8.self)
                    return HTTPGrammar.isToken(text) ? text : nil
                }
                if next(is: "\\") { index += 1 }
                guard index < bytes.count else { return nil }
                value.append(bytes[index])
                index += 1
            }
            return nil
        }
    }
}
