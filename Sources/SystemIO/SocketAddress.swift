internal import CSystemShims
internal import Glibc

/// An IPv4 address.
public struct IPv4Address: Hashable, Sendable, CustomStringConvertible {
    /// The four bytes, the first one highest.
    public let value: UInt32

    /// An address from its four bytes, the first one highest.
    public init(value: UInt32) { self.value = value }

    /// Reads dotted decimal, all four parts: `127.0.0.1`, not `127.1`.
    public init?(_ text: String) {
        var address = in_addr()
        guard !text.utf8.contains(0), inet_pton(AF_INET, text, &address) == 1 else { return nil }
        value = UInt32(bigEndian: address.s_addr)
    }

    /// Dotted decimal.
    public var description: String {
        "\(value >> 24).\(value >> 16 & 255).\(value >> 8 & 255).\(value & 255)"
    }
}

/// An IPv6 address without zone.
public struct IPv6Address: Hashable, Sendable, CustomStringConvertible {
    /// The sixteen bytes, the first one highest.
    public let value: UInt128

    /// An address from its sixteen bytes, the first one highest.
    public init(value: UInt128) { self.value = value }

    /// Reads the forms of RFC 4291 §2.2, without brackets and zone.
    public init?(_ text: String) {
        var address = in6_addr()
        guard !text.utf8.contains(0), inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        self.init(address)
    }

    init(_ address: in6_addr) {
        value = withUnsafeBytes(of: address) { UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self)) }
    }

    var kernel: in6_addr {
        var address = in6_addr()
        withUnsafeMutableBytes(of: &address) { $0.storeBytes(of: value.bigEndian, as: UInt128.self) }
        return address
    }

    /// The canonical text (RFC 5952).
    public var description: String {
        var address = kernel
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            guard let base = buffer.baseAddress,
                inet_ntop(AF_INET6, &address, base, socklen_t(buffer.count)) != nil
            else { return "::" }
            return String(cString: base)
        }
    }
}

/// Where a stream socket connects or listens.
public enum SocketAddress: Hashable, Sendable {
    case v4(IPv4Address, port: UInt16)
    /// The scope is the interface's index of a link-local address, otherwise 0.
    case v6(IPv6Address, port: UInt16, scope: UInt32 = 0)
    case unix(path: String)

    /// The TCP port; nil for a unix socket.
    public var port: UInt16? {
        switch self {
        case .v4(_, let port), .v6(_, let port, _): port
        case .unix: nil
        }
    }

    /// The same address with another port; a unix socket stays as it is.
    public func withPort(_ port: UInt16) -> SocketAddress {
        switch self {
        case .v4(let address, _): .v4(address, port: port)
        case .v6(let address, _, let scope): .v6(address, port: port, scope: scope)
        case .unix: self
        }
    }

    /// 127.0.0.1 with a port; 0 lets the kernel choose when listening.
    package static func loopback(port: UInt16 = 0) -> SocketAddress {
        .v4(IPv4Address(value: 0x7F00_0001), port: port)
    }

    /// ::1 with a port; 0 lets the kernel choose when listening.
    package static func loopback6(port: UInt16 = 0) -> SocketAddress {
        .v6(IPv6Address(value: 1), port: port)
    }
}
