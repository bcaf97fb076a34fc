/// Header fields in their order, names compared without case (RFC 9110 §5.1).
public struct HTTPFields: Sendable, Equatable, ExpressibleByDictionaryLiteral, Sequence {
    /// One field.
    public struct Field: Sendable, Equatable {
        /// As it was written; compared without case.
        public var name: String
        /// Without the spaces around it.
        public var value: String

        /// A field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    private var fields: [Field] = []

    /// No fields.
    public init() {}

    /// Fields in the order given; a name may be there several times.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field($0.0, $0.1) }
    }

    /// How many fields there are.
    public var count: Int { fields.count }
    /// Whether there are none.
    public var isEmpty: Bool { fields.isEmpty }

    /// The fields in their order.
    public func makeIterator() -> IndexingIterator<[Field]> { fields.makeIterator() }

    /// Adds a field; others of the same name stay.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name, value))
    }

    /// The first value of a name. Setting it replaces all of them; nil removes them.
    public subscript(name: String) -> String? {
        get { fields.first { $0.name.isEqualIgnoringCase(to: name) }?.value }
        set {
            fields.removeAll { $0.name.isEqualIgnoringCase(to: name) }
            if let newValue { append(name, newValue) }
        }
    }

    /// All values of a name, in order.
    public func values(_ name: String) -> [String] {
        fields.filter { $0.name.isEqualIgnoringCase(to: name) }.map(\.value)
    }

    /// Whether a comma-separated list field has an element that equals `token` without case (RFC 9110 §5.6.1).
    package func list(_ name: String, contains token: String) -> Bool {
        values(name).contains { value in
            value.utf8.split(separator: UInt8(ascii: ",")).contains { element in
                String(Substring(element)).trimmingWhitespace().isEqualIgnoringCase(to: token)
            }
        }
    }
}

extension StringProtocol {
    /// ASCII letters are equal in either case; everything else byte by byte.
    package func isEqualIgnoringCase(to other: some StringProtocol) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return zip(utf8, other.utf8).allSatisfy { $0 == $1 || Self.lowercased($0) == Self.lowercased($1) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }

    /// Without the spaces and tabs at both ends (OWS, RFC 9110 §5.6.3).
    package func trimmingWhitespace() -> String {
        var bytes = Substring(self).utf8[...]
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return String(Substring(bytes))
    }
}

/// The grammar of header fields (RFC 9110 §5.6.2, §5.5).
package enum HTTPGrammar {
    package static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
    }

    package static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    /// Visible characters, spaces, tabs and bytes above ASCII: nothing that could end a line.
    package static func isFieldValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
