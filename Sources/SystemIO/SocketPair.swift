internal import CSystemShims
internal import Glibc

/// Two connected stream sockets in this process, for tests; take each end once.
package struct SocketPair: ~Copyable {
    package var first: TCPSocket?
    package var second: TCPSocket?

    /// Makes the pair, non-blocking and close-on-exec.
    package init() throws(SystemError) {
        var ends: (Int32, Int32) = (-1, -1)
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let result = withUnsafeMutablePointer(to: &ends) { pointer in
            pointer.withMemoryRebound(to: Int32.self, capacity: 2) { socketpair(AF_UNIX, kind, 0, $0) }
        }
        guard result == 0 else { throw .current("make a socket pair") }
        first = TCPSocket(owning: Descriptor(owning: ends.0))
        second = TCPSocket(owning: Descriptor(owning: ends.1))
    }

    /// The first end, to own.
    package mutating func takeFirst() -> TCPSocket { Self.take(&first) }

    /// The second end, to own.
    package mutating func takeSecond() -> TCPSocket { Self.take(&second) }

    private static func take(_ end: inout TCPSocket?) -> TCPSocket {
        guard let socket = end.take() else { preconditionFailure("this end of the pair was taken before") }
        return socket
    }
}
