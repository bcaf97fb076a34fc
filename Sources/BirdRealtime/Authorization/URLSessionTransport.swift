import Dispatch
import Foundation
import Synchronization

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
            (data, response) = try await answer(to: request)
        } catch {
            if Task.isCancelled { throw CancellationError() }
            if let error = error as? URLError, [.timedOut, .cancelled].contains(error.code) {
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

extension URLSessionTransport {
    /// Like `URLSession.data(for:)`, which can deadlock on Linux: it cancels its request while it holds the lock of the
    /// Swift task, and waits for a queue that may wait for that lock to hand over an answer. Here the request is
    /// cancelled from elsewhere.
    private func answer(to request: URLRequest) async throws -> (Data, URLResponse) {
        let slot = RequestSlot()
        // URLSession's own limit is of silence: an answer that trickles in would never end.
        let limit = DispatchWorkItem { slot.cancel() }
        DispatchQueue.global().asyncAfter(deadline: .now() + timeout, execute: limit)
        defer {
            limit.cancel()
            slot.clear()
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let task = session.dataTask(with: request) { data, response, error in
                    if let response, error == nil {
                        continuation.resume(returning: (data ?? Data(), response))
                    } else {
                        continuation.resume(throwing: error ?? URLError(.unknown))
                    }
                }
                task.resume()
                slot.fill(task)
            }
        } onCancel: {
            DispatchQueue.global().async { slot.cancel() }
        }
    }
}

/// A request that may be cancelled before it is known.
private final class RequestSlot: Sendable {
    private enum State: Sendable {
        case empty, cancelled
        case running(URLSessionDataTask)
    }

    private let state = Mutex(State.empty)

    func fill(_ task: URLSessionDataTask) {
        let isCancelled = state.withLock { state in
            if case .cancelled = state { return true }
            state = .running(task)
            return false
        }
        if isCancelled { task.cancel() }
    }

    /// The request is over.
    func clear() {
        state.withLock { $0 = .empty }
    }

    func cancel() {
        let task = state.withLock { state -> URLSessionDataTask? in
            defer { state = .cancelled }
            if case .running(let task) = state { return task }
            return nil
        }
        task?.cancel()
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
