/// What the request target of a client says: `/app/<key>?protocol=7&client=…&version=…`.
struct AppTarget: Equatable {
    /// The path segment after `/app/`, percent-decoded; nil for any other path.
    var appKey: String?
    var protocolVersion: String?

    init(_ target: String) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let segments = parts[0].split(separator: "/", omittingEmptySubsequences: false)
        if segments.count == 3, segments[0].isEmpty, segments[1] == "app", !segments[2].isEmpty {
            appKey = Self.percentDecoded(segments[2])
        }
        guard parts.count == 2 else { return }
        for field in parts[1].split(separator: "&") where field.hasPrefix("protocol=") {
            protocolVersion = String(field.dropFirst("protocol=".count))
        }
    }

    private static func percentDecoded(_ segment: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = segment.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
