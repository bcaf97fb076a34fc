/// The six states that the app observes.
package enum ConnectionPhase: String, Hashable, Sendable, CaseIterable {
    /// No socket yet.
    case initialized
    /// A socket is opening, or is open and waits for the handshake event.
    case connecting
    /// The handshake landed: there is a connection id.
    case connected
    /// Dropped, and a retry is scheduled.
    case unavailable
    /// The app called `disconnect()`; nothing is scheduled.
    case disconnected
    /// The server refused, or the options are unusable; no retry.
    case failed
}
