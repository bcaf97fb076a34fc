internal import CSystemShims
internal import Glibc

/// What one attempt to read came to.
package enum ReadOutcome: Equatable, Sendable {
    /// So many bytes, at least one, lie at the start of the buffer.
    case bytes(Int)
    /// Nothing now; try again when this is ready.
    case wouldBlock(Interest)
    /// The peer sends no more. Not clean: the security layer above TCP was cut off.
    case end(isClean: Bool)
}

/// What one attempt to write came to.
package enum WriteOutcome: Equatable, Sendable {
    /// So many bytes were taken, possibly fewer than offered.
    case bytes(Int)
    /// Nothing was taken; try again when this is ready.
    case wouldBlock(Interest)
}

/// A connected (or connecting) non-blocking stream socket. Not bound to a loop or a thread; closed with the value.
package struct TCPSocket: ~Copyable, Sendable {
    private let descriptor: Descriptor

    /// Takes over a non-blocking stream socket and turns Nagle's algorithm off where there is one.
    package init(owning descriptor: consuming Descriptor) {
        self.descriptor = descriptor
        // A WebSocket writes whole frames at once: waiting to fill segments only adds delay. Refused by AF_UNIX, harmlessly.
        setOption(tcpLevel, TCP_NODELAY, 1)
    }

    /// The descriptor's number, to watch it; valid for as long as the socket lives.
    package var rawValue: Int32 { descriptor.rawValue }

    /// Gives the descriptor away.
    package consuming func release() -> Descriptor { descriptor }

    /// Reads what is there, up to the buffer's size.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> ReadOutcome {
        guard buffer.count > 0 else { return .bytes(0) }
        let count = retryingInterrupts { recv(rawValue, buffer.baseAddress, buffer.count, 0) }
        if count > 0 { return .bytes(count) }
        if count == 0 { return .end(isClean: true) }
        if errno == EAGAIN || errno == EWOULDBLOCK { return .wouldBlock(.read) }
        throw .current("read from \(peerName)")
    }

    /// Writes as much as the kernel takes. A peer that has gone is an error, never a SIGPIPE.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> WriteOutcome {
        guard bytes.count > 0 else { return .bytes(0) }
        let count = retryingInterrupts {
            send(rawValue, bytes.baseAddress, bytes.count, sendFlags)
        }
        if count >= 0 { return .bytes(count) }
        if errno == EAGAIN || errno == EWOULDBLOCK { return .wouldBlock(.write) }
        throw .current("write to \(peerName)")
    }

    /// Sends FIN: the peer sees the end of our stream, reading goes on. A peer that has gone already is no error.
    package func shutdownWrite() {
        shutdown(rawValue, Int32(SHUT_WR))
    }

    /// Makes the closing of this socket a reset: unsent bytes are dropped and the peer sees ECONNRESET.
    package func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(rawValue, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Closes at once with a reset (RST).
    package consuming func abort() {
        resetOnClose()
    }

    /// Turns Nagle's algorithm off (the default here) or on.
    package func setNoDelay(_ isOn: Bool) {
        setOption(tcpLevel, TCP_NODELAY, isOn ? 1 : 0)
    }

    /// Asks for a send buffer of so many bytes; the kernel rounds and doubles it.
    package func setSendBufferSize(_ bytes: Int32) {
        setOption(SOL_SOCKET, SO_SNDBUF, bytes)
    }

    /// Asks for a receive buffer of so many bytes; the kernel rounds and doubles it.
    package func setReceiveBufferSize(_ bytes: Int32) {
        setOption(SOL_SOCKET, SO_RCVBUF, bytes)
    }

    /// Takes the error that the kernel keeps for this socket, if there is one, and clears it.
    package func takePendingError(_ operation: @autoclosure () -> String) -> SystemError? {
        var number: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(rawValue, SOL_SOCKET, SO_ERROR, &number, &length) == 0 else {
            return .current(operation())
        }
        return number == 0 ? nil : SystemError(errno: number, operation: operation())
    }

    /// This end's address; nil for a socket that has none.
    package var localAddress: SocketAddress? {
        SocketAddress.read { getsockname(rawValue, $0, $1) }
    }

    /// The other end's address; nil when not connected.
    package var peerAddress: SocketAddress? {
        SocketAddress.read { getpeername(rawValue, $0, $1) }
    }

    private var peerName: String { peerAddress?.description ?? "the peer" }

    private func setOption(_ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        setsockopt(rawValue, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}

private let tcpLevel = Int32(IPPROTO_TCP)
private let sendFlags = Int32(MSG_NOSIGNAL)
