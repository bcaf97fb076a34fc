import SystemIO
import SystemTLS

/// What a WebSocket goes over: a socket, or TLS on one.
enum Transport: ~Copyable {
    case plain(TCPSocket)
    case secure(TLSStream)

    /// To watch it.
    var rawValue: Int32 {
        switch self {
        case .plain(let socket): socket.rawValue
        case .secure(let stream): stream.rawValue
        }
    }

    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(WebSocketError) -> ReadOutcome {
        switch consume self {
        case .plain(let socket):
            let result = Result { () throws(SystemError) in try socket.read(into: buffer) }
            self = .plain(socket)
            return try result.mapError { WebSocketError($0, phase: .open) }.get()
        case .secure(var stream):
            let result = Result { () throws(TLSError) in try stream.read(into: buffer) }
            self = .secure(stream)
            return try result.mapError { WebSocketError($0, phase: .open) }.get()
        }
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) throws(WebSocketError) -> WriteOutcome {
        switch consume self {
        case .plain(let socket):
            let result = Result { () throws(SystemError) in try socket.write(bytes) }
            self = .plain(socket)
            return try result.mapError { WebSocketError($0, phase: .open) }.get()
        case .secure(var stream):
            let result = Result { () throws(TLSError) in try stream.write(bytes) }
            self = .secure(stream)
            return try result.mapError { WebSocketError($0, phase: .open) }.get()
        }
    }

    /// Says that nothing more comes: close_notify over TLS, and FIN.
    mutating func shutdownWrite() {
        switch consume self {
        case .plain(let socket):
            socket.shutdownWrite()
            self = .plain(socket)
        case .secure(var stream):
            stream.shutdown()
            stream.shutdownWrite()
            self = .secure(stream)
        }
    }

    /// How many of the bytes of a write that blocked have been encrypted, so that they may not change any more.
    var committedByteCount: Int {
        switch self {
        case .plain: 0
        case .secure(let stream): stream.committedByteCount
        }
    }

    /// FIN alone: over TLS the peer sees a truncation.
    func cutWrite() {
        switch self {
        case .plain(let socket): socket.shutdownWrite()
        case .secure(let stream): stream.shutdownWrite()
        }
    }

    /// Whether the end was found behind bytes already: the socket's readiness need not show it.
    var hasEnded: Bool {
        switch self {
        case .plain: false
        case .secure(let stream): stream.hasEnded
        }
    }

    /// Makes the closing a reset.
    func resetOnClose() {
        switch self {
        case .plain(let socket): socket.resetOnClose()
        case .secure(let stream): stream.resetOnClose()
        }
    }

    var tlsVersion: String? {
        switch self {
        case .plain: nil
        case .secure(let stream): stream.summary.version
        }
    }

    var serverName: String? {
        switch self {
        case .plain: nil
        case .secure(let stream): stream.requestedServerName
        }
    }
}
