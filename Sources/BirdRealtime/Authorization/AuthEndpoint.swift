import Foundation

/// The URL of an authorization endpoint.
struct AuthEndpoint: Sendable, Hashable {
    let text: String
    let url: URL

    /// nil when it is not an absolute http or https URL with a host.
    init?(_ text: String) {
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(),
            scheme == "http" || scheme == "https", url.host?.isEmpty == false
        else { return nil }
        self.text = text
        self.url = url
    }

    var isSecure: Bool { url.scheme?.lowercased() == "https" }

    func error(_ message: String, status: Int = 0) -> RealtimeAuthError {
        RealtimeAuthError(endpoint: text, status: status, message: message)
    }
}

/// Sends one authorization request and returns the whole answer.
protocol AuthTransport: Sendable {
    /// Posts JSON. Follows no redirects. Throws ``RealtimeAuthError`` with status 0 when no whole answer came.
    func post(_ body: [UInt8], headers: [String: String], to endpoint: AuthEndpoint) async throws
        -> AuthAnswer
}

/// An answer of an authorization endpoint.
struct AuthAnswer: Sendable {
    var status: Int
    var body: [UInt8]
}
