public import WebSocketCore

/// A WebSocket server on the event loop: the server role of the same code, for tests and small services.
public final class WebSocketListener: Sendable {
    /// What a client asks for.
    public struct Request: Sendable {
        /// Path and query.
        public var target: String
        /// The request's header fields.
        public var fields: HTTPFields
        /// Offered, in the client's order of preference.
        public var subprotocols: [String]
        /// The name asked for over TLS (SNI).
        public var serverName: String?
    }

    /// What is answered.
    public enum Answer: Sendable {
        /// Upgrade, and tell `handler` of all that follows.
        case accept(any WebSocketHandler, subprotocol: String? = nil, fields: HTTPFields = [:])
        /// Another status; the connection is closed behind it.
        case refuse(status: Int, reason: String = "", fields: HTTPFields = [:], body: String = "")
    }

    /// How a listener treats its connections.
    public struct Options: Sendable {
        /// Limits, deflate, time limits and marks; what concerns clients alone is not used.
        public var connection = WebSocketOptions()
        /// The certificate chain and key for `wss`, as PEM texts; nil for `ws`.
        public var identity: (certificateChainPEM: String, privateKeyPEM: String)?

        /// The defaults, over `ws`.
        public init() {}
    }

    /// The port it listens on.
    public let port: UInt16
    let driver: ListenerDriver

    init(port: UInt16, driver: ListenerDriver) {
        self.port = port
        self.driver = driver
    }

    /// Listens on an address of this machine; port 0 lets the system choose one.
    ///
    /// - Parameter accept: answers each request, on the loop's thread; it must not block.
    /// - Throws: `WebSocketError` when the address is taken or the certificate cannot be used.
    public static func listen(
        host: String = "127.0.0.1", port: UInt16 = 0, options: Options = Options(),
        accept: @escaping @Sendable (Request) -> Answer
    ) async throws(WebSocketError) -> WebSocketListener {
        try await listen(host: host, port: port, options: options, faults: nil, accept: accept)
    }

    /// Listens no more. Connections go on.
    public func close() {
        driver.stop()
    }

    /// What a listener does with a socket before anything else, for tests of what clients make of it.
    package enum AcceptFault: Sendable {
        /// Serve it.
        case serve
        /// RST.
        case reset
        /// FIN.
        case close
        /// Read nothing, say nothing, until the listener is closed.
        case hold
        /// Send these bytes in place of TLS or HTTP, then FIN.
        case say([UInt8])
    }
}
