/// The checks of `trigger`, in the order that the protocol fixes. They need no connection.
package enum ClientEventError: Error, Hashable, Sendable {
    case missingPrefix(event: String)
    case publicChannel(String)
    case encryptedChannel(String)
    case dataNotJSON

    /// Names the thing to mend.
    package var message: String {
        switch self {
        case .missingPrefix(let event):
            "the event name \"\(event)\" must begin with \"client-\""
        case .publicChannel(let name):
            "client events need a private or presence channel; \"\(name)\" is public"
        case .encryptedChannel(let name):
            "client events cannot be sent on \"\(name)\": an encrypted channel takes events from the server only"
        case .dataNotJSON:
            "the data of a client event must be valid JSON"
        }
    }

    /// `data` is nil when the caller's value could not be made into JSON text.
    package static func check(event: String, channelName: String, data: [UInt8]?) throws(ClientEventError) {
        guard event.hasPrefix("client-") else { throw .missingPrefix(event: event) }
        switch ChannelFamily(name: channelName) {
        case .public: throw .publicChannel(channelName)
        case .encrypted: throw .encryptedChannel(channelName)
        case .private, .presence: break
        }
        guard let data, JSONGrammar.isValid(data.span.bytes), UTF8Check.isValid(data.span.bytes) else {
            throw .dataNotJSON
        }
    }
}
