/// What the shell has to do, in order. Commands for a socket that the shell was told to close before are to be
/// ignored by it (a handler that runs between two actions may call `disconnect()`).
package enum Action: Equatable, Sendable {
    // MARK: to the socket

    /// Open a socket. Its events come back with this tag.
    case openSocket(SocketTag)
    /// Close the socket, or abandon the attempt. No event of it is heard any more. With `waitForPeer` false, the
    /// close frame is attempted once and the descriptor is closed at once.
    case closeSocket(SocketTag, code: Int, reason: String, waitForPeer: Bool)
    /// Send one text message.
    case send(SocketTag, [UInt8])

    // MARK: to the authorizers

    case authorizeChannel(ChannelAuthorizationRequest)
    case authorizeMember(MemberAuthorizationRequest)
    /// The answer is not wanted any more.
    case cancelAuthorization(AuthorizationTag)

    // MARK: to the app

    case stateChanged(from: ConnectionPhase, to: ConnectionPhase)
    /// Seconds until the next attempt, after a change to `unavailable`.
    case connectingIn(Duration)
    case error(ErrorReport)
    /// A signin that nobody waits for (a re-signin after a reconnect) failed.
    case signinError(SigninFailure)
    /// Each waiter hears this exactly once.
    case signinFinished(WaiterID, Result<SignedInIdentity, SigninFailure>)
    /// The identity of the connection changed: set by a success, nil when its connection went.
    case identityChanged(SignedInIdentity?)
    /// `bird:subscription_succeeded`. The roster is current before this is delivered; nil on other families.
    case subscriptionSucceeded(ChannelID, PresenceRoster?)
    /// `bird:subscription_error`.
    case subscriptionFailed(ChannelID, SubscriptionFailure)
    /// The channel is not subscribed any more (drop, `disconnect()`): no event, its getters are reset.
    case subscriptionLost(ChannelID)
    /// `bird:connection_count` with the JSON text of its data.
    case connectionCount(ChannelID, [UInt8])
    case memberAdded(ChannelID, PresenceMember)
    /// A known member sent other info: the roster changes and no event fires.
    case memberUpdated(ChannelID, PresenceMember)
    /// A roster arrived again for a subscribed channel: it is replaced and no event fires.
    case rosterReplaced(ChannelID, PresenceRoster)
    case memberRemoved(ChannelID, PresenceMember)
    /// The secret of an encrypted channel, for the decryptor. Comes before the channel can succeed.
    case sharedSecret(ChannelID, String?)
    /// No new secret could be had: what waits for it is to be reported as `bird:decryption_error`.
    case secretRenewalFailed(ChannelID, SubscriptionFailure)
    case watchlist([WatchlistEvent])
    case pingRoundTrip(Duration)
    /// A message that is not of this protocol was ignored: for the debug log.
    case ignoredMessage(String)
}

/// Why a channel is not subscribed, as the payload of `bird:subscription_error`.
package struct SubscriptionFailure: Error, Equatable, Sendable {
    package var error: String
    package var endpoint: String?
    package var status: Int?

    package init(error: String, endpoint: String? = nil, status: Int? = nil) {
        self.error = error
        self.endpoint = endpoint
        self.status = status
    }
}

/// Members of the watchlist that came or went.
package struct WatchlistEvent: Hashable, Sendable {
    /// `online` or `offline`.
    package var name: String
    package var memberIDs: [String]

    package init(name: String, memberIDs: [String]) {
        self.name = name
        self.memberIDs = memberIDs
    }
}
