internal import CSystemShims
internal import Glibc

extension SocketAddress: CustomStringConvertible {
    /// `127.0.0.1:80`, `[::1]:80`, `[fe80::1%eth0]:80`, `unix:/run/socket`.
    public var description: String {
        switch self {
        case .v4(let address, let port): "\(address):\(port)"
        case .v6(let address, let port, 0): "[\(address)]:\(port)"
        case .v6(let address, let port, let scope): "[\(address)%\(Self.zoneName(scope))]:\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// Reads what `description` writes; a host name is none of it.
    public init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard !path.isEmpty, path.utf8.count < 108, !path.utf8.contains(0) else { return nil }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"),
            let port = Self.port(text[text.index(after: colon)...])
        else { return nil }
        let host = text[..<colon]
        let address: SocketAddress?
        if host.hasPrefix("["), host.hasSuffix("]") {
            address = Self.literal6(host.dropFirst().dropLast(), port)
        } else {
            // Without brackets the last group of an IPv6 address would pass for the port.
            address = IPv4Address(String(host)).map { .v4($0, port: port) }
        }
        guard let address else { return nil }
        self = address
    }

    /// The address that a URL's host spells out, with or without brackets and zone; nil when the host is a name.
    package static func literal(_ host: String, _ port: UInt16) -> SocketAddress? {
        if host.hasPrefix("["), host.hasSuffix("]") {
            let inner = host.dropFirst().dropLast()
            // RFC 6874 §2: in a URL the percent sign before the zone is itself escaped as %25.
            if let percent = inner.firstIndex(of: "%") {
                let zone = inner[inner.index(after: percent)...]
                if zone.hasPrefix("25"), zone.count > 2 {
                    return literal6(inner[...percent] + zone.dropFirst(2), port)
                }
            }
            return literal6(inner, port)
        }
        if let address = IPv4Address(host) { return .v4(address, port: port) }
        return literal6(Substring(host), port)
    }

    private static func literal6(_ text: Substring, _ port: UInt16) -> SocketAddress? {
        guard let percent = text.firstIndex(of: "%") else {
            return IPv6Address(String(text)).map { .v6($0, port: port) }
        }
        guard let address = IPv6Address(String(text[..<percent])) else { return nil }
        let zone = text[text.index(after: percent)...]
        guard let scope = zoneIndex(zone) else { return nil }
        return .v6(address, port: port, scope: scope)
    }

    private static func zoneIndex(_ zone: Substring) -> UInt32? {
        guard !zone.isEmpty, !zone.utf8.contains(0) else { return nil }
        if zone.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return UInt32(zone) }
        let index = if_nametoindex(String(zone))
        return index == 0 ? nil : index
    }

    private static func zoneName(_ scope: UInt32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IF_NAMESIZE)) { buffer in
            guard let base = buffer.baseAddress, if_indextoname(scope, base) != nil else { return "\(scope)" }
            return String(cString: base)
        }
    }

    private static func port(_ text: Substring) -> UInt16? {
        // UInt16("+80") is 80: digits alone are a port.
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt16(text)
    }
}
