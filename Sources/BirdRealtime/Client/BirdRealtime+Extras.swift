import RealtimeCore

// Beside the surface that every client of the service has.

extension BirdRealtime {
    /// Removes an observer that one of the `on…` methods registered. On the delivery queue it is not called any more
    /// once this has returned.
    public func remove(_ token: BindingToken) { engine.remove(token) }

    /// Calls `handler` with the seconds until the next attempt, whenever one is scheduled.
    @discardableResult
    public func onConnectingIn(_ handler: @escaping @Sendable (_ seconds: Double) -> Void) -> BindingToken {
        engine.connectingInObservers.add(handler).observer.token
    }

    /// Ends a wait for the next attempt; does nothing in any state but `unavailable`.
    public func retryNow() { engine.retryNow() }

    /// Disconnects, and returns when the closing handshake is over and the socket is closed: within ten seconds, whatever
    /// the service does, and also when the calling task is cancelled.
    public func disconnectAndWait() async {
        engine.disconnect()
        await engine.closed()
    }

    /// The states from now on, as a sequence for one reader. It ends with the client and does not keep it alive.
    ///
    /// - Parameter limit: Changes that wait for the reader. Beyond it the oldest are dropped and counted.
    public func states(bufferingUpTo limit: Int = 64) -> RealtimeSequence<StateChange> {
        engine.stateStreams.open(.bufferingNewest(max(1, limit))) { _ in true }
    }

    /// How the last connection that had been `connected` ended; nil when none has.
    public var lastDisconnect: Disconnect? { engine.lastDisconnect.map(Disconnect.init) }

    /// How long the service took to answer the last ping; nil when none was answered.
    public var lastPingRoundTrip: Duration? { engine.lastPingRoundTrip }

    /// How many events were dropped because `maxPendingDeliveryBytes` waited for handlers.
    public var droppedEventCount: Int { engine.delivery.droppedCount }

    /// How many messages of the service were ignored because they are not of the protocol.
    public var ignoredMessageCount: Int { engine.ignoredMessageCount }
}

/// A change of the connection's state.
public struct StateChange: Sendable, Hashable {
    /// The state before.
    public let previous: ConnectionState
    /// The state after.
    public let current: ConnectionState
}

/// How a connection ended.
public struct Disconnect: Sendable, Hashable {
    /// What brought it to its end.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The service sent a close frame.
        case closeFrame
        /// The stream ended without a close frame.
        case endOfStream
        /// The stream was cut in the middle of something.
        case truncated
        /// The system or TLS reported an error.
        case transport
        /// The service broke the WebSocket protocol.
        case violation
        /// No sign of life came within `pongTimeout`.
        case stale
    }

    /// What brought the connection to its end.
    public let kind: Kind
    /// The code of the service's close frame; nil when none came.
    public let code: Int?
    /// The reason of the close frame, or what went wrong, in words.
    public let reason: String

    init(_ end: SocketEnd) {
        kind =
            switch end.kind {
            case .closeFrame: .closeFrame
            case .endOfStream: .endOfStream
            case .truncated: .truncated
            case .transport: .transport
            case .violation: .violation
            case .stale: .stale
            }
        code = end.code
        reason = end.reason
    }
}
