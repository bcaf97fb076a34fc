/// What the machines must know of the options.
package struct RealtimeConfiguration: Sendable {
    /// Host and port, for messages.
    package var host: String
    /// Idle time before a ping when the handshake names none. Taken as given.
    package var activityTimeout: Duration = .seconds(120)
    package var pongTimeout: Duration = .seconds(30)
    /// Covers DNS, TCP, TLS, upgrade and the handshake event together.
    package var connectTimeout: Duration = .seconds(30)
    package var reconnect = ReconnectPolicy()
    /// Seeds the jitter; the shell draws it from the system unless the policy names one.
    package var seed: UInt64
    /// True when a decryptor for `private-encrypted-` channels is present.
    package var decryptsChannels = false
    /// Set when the options cannot be used: every `connect()` then leads to `failed` with this report.
    package var unusable: ErrorReport?

    package init(host: String, seed: UInt64) {
        self.host = host
        self.seed = seed
    }
}
