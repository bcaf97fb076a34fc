/// Where the connection of a client stands.
public enum ConnectionState: String, Sendable, Hashable, CaseIterable {
    /// No socket has been asked for yet.
    case initialized
    /// A socket is opening, or is open and waits for the service's handshake event.
    case connecting
    /// The handshake landed; there is a connection id.
    case connected
    /// The connection dropped or could not be made; a retry is scheduled.
    case unavailable
    /// The program called `disconnect()`; nothing is scheduled.
    case disconnected
    /// The service refused, or the options are unusable; only `connect()` leads out.
    case failed
}
