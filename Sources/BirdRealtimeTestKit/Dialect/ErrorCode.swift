extension LoopbackEdge {
    /// The codes of the `bird:error` events that the edge sends by itself.
    public enum ErrorCode {
        /// No application has this key; a close frame with the same code follows.
        public static let unknownApplication = 4001
        /// The URL does not say `protocol=7`; a close frame with the same code follows.
        public static let unsupportedProtocol = 4007
        /// A signature is missing or wrong, or the member channel is another member's.
        public static let unauthorized = 4009
        /// A message is not JSON, not an object, has no event name, or its event or fields are unknown or unfit.
        public static let malformedMessage = 4300
        /// A client event on a channel that does not take it.
        public static let clientEventRejected = 4301
        /// `data` is a JSON text inside a string; clients send plain JSON values.
        public static let stringifiedData = 4302
        /// The connection is subscribed to the channel, or signed in as another member, already.
        public static let alreadyDone = 4303
    }
}
