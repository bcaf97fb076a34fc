/// Names of the wire protocol that programs meet.
public enum BirdProtocol {
    /// The prefix of the events the library delivers about a channel itself, and of the service's own.
    public static let system = "bird:"
    /// The prefix of events between the service and the library; they never reach handlers.
    public static let internalPrefix = "bird_internal:"
    /// The prefix `trigger` asks for.
    public static let clientEventPrefix = "client-"

    /// The events the library delivers on a channel beside the application's own.
    public enum Event {
        /// The service took the subscription. Data: `[String: Member]` on a presence channel, else nil.
        public static let subscriptionSucceeded = "bird:subscription_succeeded"
        /// The subscription failed. Data: a dictionary with `error`, and `endpoint` and `status` where known.
        public static let subscriptionError = "bird:subscription_error"
        /// How many connections are subscribed. Data: a dictionary with `connection_count`.
        public static let connectionCount = "bird:connection_count"
        /// Somebody joined a presence channel. Data: a `Member`.
        public static let memberAdded = "bird:member_added"
        /// Somebody left a presence channel. Data: a `Member`.
        public static let memberRemoved = "bird:member_removed"
        /// An event of an encrypted channel did not open. Data: a dictionary with `channel`, `event` and `error`.
        public static let decryptionError = "bird:decryption_error"
    }
}
