internal import CSystemShims
internal import Glibc

extension SocketAddress {
    var family: Int32 {
        switch self {
        case .v4: AF_INET
        case .v6: AF_INET6
        case .unix: AF_UNIX
        }
    }

    /// Lends the address in the kernel's form for the duration of the call.
    func withKernelAddress<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        switch self {
        case .v4(let address, let port):
            var kernel = sockaddr_in()
            kernel.sin_family = sa_family_t(AF_INET)
            kernel.sin_port = port.bigEndian
            kernel.sin_addr.s_addr = address.value.bigEndian
            return Self.lend(&kernel, MemoryLayout<sockaddr_in>.size, body)
        case .v6(let address, let port, let scope):
            var kernel = sockaddr_in6()
            kernel.sin6_family = sa_family_t(AF_INET6)
            kernel.sin6_port = port.bigEndian
            kernel.sin6_addr = address.kernel
            kernel.sin6_scope_id = scope
            return Self.lend(&kernel, MemoryLayout<sockaddr_in6>.size, body)
        case .unix(let path):
            var kernel = sockaddr_un()
            kernel.sun_family = sa_family_t(AF_UNIX)
            let room = MemoryLayout.size(ofValue: kernel.sun_path)
            withUnsafeMutableBytes(of: &kernel.sun_path) { field in
                // Who makes the socket has checked the length.
                for (index, byte) in path.utf8.prefix(room).enumerated() { field[index] = byte }
            }
            return Self.lend(&kernel, MemoryLayout<sockaddr_un>.size, body)
        }
    }

    private static func lend<Kernel, R>(
        _ kernel: inout Kernel, _ size: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
    ) -> R {
        withUnsafePointer(to: &kernel) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(size)) }
        }
    }

    /// Reads the address that getsockname or getpeername fills in; nil when the call fails.
    static func read(
        _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard call(address, &length) == 0 else { return nil }
                return SocketAddress(kernel: address, length: length)
            }
        }
    }

    init?(kernel address: UnsafePointer<sockaddr>, length: socklen_t) {
        let bytes = UnsafeRawBufferPointer(start: address, count: Int(length))
        guard bytes.count >= MemoryLayout<sa_family_t>.size else { return nil }
        switch Int32(address.pointee.sa_family) {
        case AF_INET where bytes.count >= MemoryLayout<sockaddr_in>.size:
            let kernel = bytes.loadUnaligned(as: sockaddr_in.self)
            self = .v4(
                IPv4Address(value: UInt32(bigEndian: kernel.sin_addr.s_addr)),
                port: UInt16(bigEndian: kernel.sin_port))
        case AF_INET6 where bytes.count >= MemoryLayout<sockaddr_in6>.size:
            let kernel = bytes.loadUnaligned(as: sockaddr_in6.self)
            self = .v6(
                IPv6Address(kernel.sin6_addr), port: UInt16(bigEndian: kernel.sin6_port),
                scope: kernel.sin6_scope_id)
        case AF_UNIX:
            let path = bytes.dropFirst(MemoryLayout<sa_family_t>.size).prefix { $0 != 0 }
            self = .unix(path: String(decoding: path, as: UTF8.self))
        default:
            return nil
        }
    }
}
