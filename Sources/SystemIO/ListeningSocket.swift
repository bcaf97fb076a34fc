internal import CSystemShims
internal import Glibc

/// A non-blocking listening stream socket. Closed with the value.
package struct ListeningSocket: ~Copyable, Sendable {
    private let descriptor: Descriptor

    /// Where it listens, with the real port when 0 was asked for.
    package let address: SocketAddress

    /// The descriptor's number, to watch it for reading; valid for as long as the socket lives.
    package var rawValue: Int32 { descriptor.rawValue }

    /// Listens at an address; port 0 lets the kernel choose. The kernel bounds the backlog.
    package static func bind(_ address: SocketAddress, backlog: Int32 = 512) throws(SystemError)
        -> ListeningSocket
    {
        let descriptor = try Descriptor(streamFor: address, "listen on \(address)")
        var isOn: Int32 = 1
        // Otherwise a restarted server waits for the TIME-WAIT of its last connections.
        setsockopt(
            descriptor.rawValue, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        let result = address.withKernelAddress { kernel, length in
            Glibc.bind(descriptor.rawValue, kernel, length)
        }
        guard result == 0, listen(descriptor.rawValue, backlog) == 0 else {
            throw .current("listen on \(address)")
        }
        let number = descriptor.rawValue
        let actual = SocketAddress.read { getsockname(number, $0, $1) }
        return ListeningSocket(descriptor: descriptor, address: actual ?? address)
    }

    /// The next connection; nil when none waits.
    ///
    /// Connections that died while waiting are passed over. An error with `isExhaustion` (no descriptors, no memory) leaves
    /// the connection waiting and the socket readable: stop watching for a while instead of trying again at once.
    package func accept() throws(SystemError) -> TCPSocket? {
        while true {
            let number = shim_accept(
                rawValue, Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
            if number >= 0 { return TCPSocket(owning: Descriptor(owning: number)) }
            switch errno {
            case EAGAIN, EWOULDBLOCK: return nil
            // accept(2): an error that is pending on the new connection is reported here; the listener is fine.
            case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH,
                ENETUNREACH, ETIMEDOUT:
                continue
            default: throw .current("accept on \(address)")
            }
        }
    }
}

extension Descriptor {
    /// A non-blocking, close-on-exec stream socket of the address's family.
    init(streamFor address: SocketAddress, _ operation: @autoclosure () -> String) throws(SystemError) {
        if case .unix(let path) = address {
            // The kernel would take a cut path for another one.
            guard path.utf8.count < 108 else {
                throw SystemError(errno: ENAMETOOLONG, operation: operation())
            }
            guard !path.isEmpty, !path.utf8.contains(0) else {
                throw SystemError(errno: EINVAL, operation: operation())
            }
        }
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        try self.init(checking: socket(address.family, kind, 0), operation())
    }
}
