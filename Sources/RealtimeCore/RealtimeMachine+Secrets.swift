// The secrets of encrypted channels. Opening payloads is the decryptor's; who is asked for a secret, and when, is here.

/// The key of an encrypted channel, as the authorizer gives it.
enum SharedSecret {
    /// What is wrong with a secret, in words that name the thing to mend; nil when it is 32 bytes in base64.
    static func fault(_ secret: String?, channelName: String) -> String? {
        guard let secret else {
            return
                "the authorizer's answer for \(channelName) has no shared_secret, which encrypted channels need"
        }
        // RFC 4648 §4: 32 bytes are 43 characters and one of padding.
        let characters = Array(secret.utf8)
        let isBase64 =
            characters.count == 44 && characters.last == UInt8(ascii: "=")
            && characters.dropLast().allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
        return isBase64 ? nil : "the shared_secret for \(channelName) is not 32 bytes in base64"
    }
}

extension RealtimeMachine {
    /// At most one renewal of a secret in this time, however many events do not open.
    static let renewalInterval = Duration.seconds(10)

    /// An event did not open: asks the authorizer for a new secret. True when one is on its way (asked for now or
    /// before) and the event may wait for it; false when the event is to be given up.
    package mutating func renewSecret(of id: ChannelID, at now: BootTime, into actions: inout [Action])
        -> Bool
    {
        guard case .connected(let session) = state, let subscription = channels[id],
            subscription.family == .encrypted, subscription.phase.acceptsEvents
        else { return false }
        if subscription.renewal != nil { return true }
        if let last = subscription.lastRenewal, now - last < RealtimeMachine.renewalInterval { return false }
        let tag = nextAuthorization()
        channels.setRenewal(tag, at: now, of: id)
        actions.append(
            .authorizeChannel(
                ChannelAuthorizationRequest(
                    tag: tag, channel: id, channelName: subscription.name,
                    connectionID: session.connectionID)))
        return true
    }

    /// The answer to a renewal gives a secret only: the channel is subscribed already.
    mutating func secretRenewed(
        _ subscription: Subscription, _ result: Result<ChannelAuthorization, AuthorizationFailure>,
        into actions: inout [Action]
    ) {
        channels.setRenewal(nil, of: subscription.id)
        switch result {
        case .failure(let failure):
            let report = SubscriptionFailure(
                error: failure.message, endpoint: failure.endpoint, status: failure.status)
            actions.append(.secretRenewalFailed(subscription.id, report))
        case .success(let answer):
            if let error = SharedSecret.fault(answer.sharedSecret, channelName: subscription.name) {
                actions.append(.secretRenewalFailed(subscription.id, SubscriptionFailure(error: error)))
            } else {
                actions.append(.sharedSecret(subscription.id, answer.sharedSecret))
            }
        }
    }
}
