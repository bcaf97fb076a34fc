/// What every error thrown by this library conforms to. Programs may conform their own errors, to choose the
/// text a failing authorizer puts into `bird:subscription_error`.
public protocol BirdRealtimeError: Error {
    /// What went wrong and what to mend, in words.
    var message: String { get }
}

/// An error of the connection or of the service, given to `onError` and thrown by `signin()` and `trigger`.
public struct RealtimeError: BirdRealtimeError, Sendable, Hashable {
    /// The code the service sent over the WebSocket; nil where the fault was found on this side. Never an HTTP
    /// status.
    public var code: Int?
    /// What went wrong and what to mend, in words.
    public var message: String

    package init(code: Int? = nil, message: String) {
        self.code = code
        self.message = message
    }
}

/// An authorization endpoint that did not give a usable answer.
public struct RealtimeAuthError: BirdRealtimeError, Sendable, Hashable {
    /// The URL that was asked.
    public var endpoint: String
    /// The HTTP status of the answer; 0 when no whole answer came.
    public var status: Int
    /// What went wrong and what to mend, in words.
    public var message: String

    /// An error of the authorization endpoint `endpoint`. `status` is 0 when no answer came.
    public init(endpoint: String, status: Int, message: String) {
        self.endpoint = endpoint
        self.status = status
        self.message = message
    }
}

/// What `signin()` throws when its task was cancelled.
extension CancellationError: BirdRealtimeError {
    /// Says that the task was cancelled.
    public var message: String { "the task was cancelled" }
}
