import Foundation
import Synchronization
import SystemTLS

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

/// Chooses by endpoint: URLSession, unless other authorities than the system's are to be trusted.
final class EndpointTransport: AuthTransport {
    private let timeout: Double
    private let own: TLSTransport?
    /// A session costs threads and queues: most clients with an authorizer of their own never need one.
    private let standard = Mutex<URLSessionTransport?>(nil)

    init(_ options: BirdRealtimeOptions) {
        timeout = options.authTimeout
        var tls = options.tls
        // A name given for the WebSocket's host is not that of the backend.
        tls.serverName = nil
        own = tls == TLSOptions() ? nil : TLSTransport(options: tls, timeout: options.authTimeout)
    }

    func post(_ body: [UInt8], headers: [String: String], to endpoint: AuthEndpoint) async throws
        -> AuthAnswer
    {
        if let own, endpoint.isSecure { return try await own.post(body, headers: headers, to: endpoint) }
        let transport = standard.withLock { standard in
            let transport = standard ?? URLSessionTransport(timeout: timeout)
            standard = transport
            return transport
        }
        return try await transport.post(body, headers: headers, to: endpoint)
    }
}

/// An answer of an authorization endpoint.
struct AuthAnswer: Sendable {
    var status: Int
    var body: [UInt8]
}
