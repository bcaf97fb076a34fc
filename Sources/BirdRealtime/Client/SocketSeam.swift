import RealtimeCore

/// Opens sockets for an engine. The one place where the client meets the network.
protocol SocketConnector: Sendable {
    /// Begins to open a socket and returns at once; what becomes of it is told through `link`, never inside this call.
    func open(_ link: SocketLink) -> any RealtimeSocket
}

/// A socket that is opening or open. Every method returns at once and may be called from any thread.
protocol RealtimeSocket: Sendable {
    /// Queues one text message.
    func send(_ text: [UInt8])
    /// Closes, or abandons the attempt. With `waitForPeer` false the close frame is attempted and the descriptor goes
    /// at once. `link.gone()` follows in every case.
    func close(code: Int, reason: String, waitForPeer: Bool)
}

/// The way from one socket back to its engine; it does not keep the engine alive.
final class SocketLink: Sendable {
    let tag: SocketTag
    private weak let engine: Engine?

    init(tag: SocketTag, engine: Engine) {
        self.tag = tag
        self.engine = engine
    }

    /// The upgrade is done.
    func opened() { engine?.socketOpened(tag) }

    func received(_ message: RawSpan, isText: Bool) { engine?.received(message, isText: isText, on: tag) }

    /// The attempt failed before its upgrade was done. Nothing but `gone()` follows.
    func failed(_ failure: AttemptFailure) { engine?.attemptFailed(tag, failure) }

    /// An upgraded socket came to its end. Nothing but `gone()` follows.
    func ended(_ end: SocketEnd) { engine?.socketEnded(tag, end) }

    /// The descriptor is closed; the last call of every socket.
    func gone() { engine?.socketGone(tag) }
}
