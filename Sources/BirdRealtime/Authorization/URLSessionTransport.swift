import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Posts with Foundation's URLSession, which trusts the certificates of the system.
final class URLSessionTransport: AuthTransport {
    private let session: URLSession
    private let timeout: Double

    /// `timeout` in seconds covers a request from its start to the last byte of the answer.
    init(timeout: Double) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeout
        configuration.timeoutIntervalForResource = timeout
        // A client that comes back with many channels asks for all of them at once.
        configuration.httpMaximumConnectionsPerHost = 64
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
        self.timeout = timeout
    }

    deinit {
        // The session holds its delegate and its threads until it is told.
        session.finishTasksAndInvalidate()
    }

    func post(_ body: [UInt8], headers: [String: String], to endpoint: AuthEndpoint) async throws
        -> AuthAnswer
    {
        var request = URLRequest(url: endpoint.url, timeoutInterval: timeout)
        request.httpMethod = "POST"
        request.httpBody = Data(body)
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response): (Data, URLResponse)
        do {
            (data, response) = try await session.data(for: request)
        } catch {
            if Task.isCancelled { throw CancellationError() }
            if let error = error as? URLError, error.code == .timedOut {
                throw endpoint.error("no answer within authTimeout (\(timeout) s)")
            }
            throw endpoint.error("no answer: \(error.localizedDescription)")
        }
        guard let answer = response as? HTTPURLResponse else {
            throw endpoint.error("the answer is not HTTP")
        }
        if let promised = answer.value(forHTTPHeaderField: "Content-Length").flatMap({ Int($0) }),
            answer.value(forHTTPHeaderField: "Content-Encoding") == nil, data.count < promised
        {
            throw endpoint.error("the answer ended early: \(data.count) of \(promised) bytes")
        }
        return AuthAnswer(status: answer.statusCode, body: Array(data))
    }
}

/// A redirect is an answer, not a place to send credentials to.
private final class NoRedirects: NSObject, URLSessionTaskDelegate, Sendable {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
