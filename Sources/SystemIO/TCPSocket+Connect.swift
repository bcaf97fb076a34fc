internal import CSystemShims
internal import Glibc

extension TCPSocket {
    /// Starts connecting and does not wait: watch for writing, then ask `finishConnecting`.
    package init(connectingTo address: SocketAddress) throws(SystemError) {
        let descriptor = try Descriptor(streamFor: address, "connect to \(address)")
        let number = descriptor.rawValue
        let result = address.withKernelAddress { kernel, length in connect(number, kernel, length) }
        // An interrupted connect goes on by itself, like one that is in progress; calling it again would be an error.
        guard result == 0 || errno == EINPROGRESS || errno == EINTR else {
            throw .current("connect to \(address)")
        }
        self.init(owning: descriptor)
    }

    /// Is the connection there? False: not yet. Throws why it failed.
    package func finishConnecting(to address: SocketAddress) throws(SystemError) -> Bool {
        if let error = takePendingError("connect to \(address)") { throw error }
        guard let peer = peerAddress else { return false }
        // Connecting to a free port of this machine may meet itself, when the kernel picks that port for our end.
        if case .unix = peer { return true }
        guard peer != localAddress else {
            throw SystemError(errno: ECONNREFUSED, operation: "connect to \(address)")
        }
        return true
    }
}
