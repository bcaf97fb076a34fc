internal import CSystemShims
internal import Glibc
internal import Synchronization

/// Threads for getaddrinfo, which blocks for as long as it likes and cannot be interrupted.
///
/// A request starts a thread unless the limit is reached; a thread that finds no request ends. They are neither the loop's
/// nor the cooperative pool's, so a name server that stays silent holds up nothing but lookups.
final class ResolverThreads: Sendable {
    typealias Answer = Result<[SocketAddress], ResolveError>
    typealias Lookup = @Sendable (_ host: String, _ port: UInt16) -> Answer

    private struct Request: Sendable {
        let number: UInt64
        let host: String
        let port: UInt16
        let continuation: CheckedContinuation<Answer, Never>
    }

    private struct State: Sendable {
        var queue: [Request] = []
        /// Callers whose lookup is running; a cancelled one has left, the lookup then answers nobody.
        var running: [UInt64: CheckedContinuation<Answer, Never>] = [:]
        /// Cancelled before their request was made.
        var cancelled: Set<UInt64> = []
        var nextNumber: UInt64 = 0
        var threads = 0
    }

    private let state = Mutex(State())
    private let limit: Int
    private let lookup: Lookup

    init(limit: Int, lookup: @escaping Lookup) {
        self.limit = limit
        self.lookup = lookup
    }

    /// How many threads there are now.
    var threadCount: Int { state.withLock { $0.threads } }

    func resolve(_ host: String, _ port: UInt16) async throws(ResolveError) -> [SocketAddress] {
        let number = state.withLock { state in
            state.nextNumber &+= 1
            return state.nextNumber
        }
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                request(Request(number: number, host: host, port: port, continuation: continuation))
            }
        } onCancel: {
            cancel(number, host)
        }
        // The handler may have come after the answer, and left its mark for nobody.
        state.withLock { _ = $0.cancelled.remove(number) }
        return try answer.get()
    }

    private func request(_ request: Request) {
        enum Step { case wait, startThread, isCancelled }
        let step: Step = state.withLock { state in
            if state.cancelled.remove(request.number) != nil { return .isCancelled }
            state.queue.append(request)
            guard state.threads < limit else { return .wait }
            state.threads += 1
            return .startThread
        }
        switch step {
        case .wait: break
        case .startThread: startThread()
        case .isCancelled: request.continuation.resume(returning: .failure(.cancelled(host: request.host)))
        }
    }

    private func cancel(_ number: UInt64, _ host: String) {
        let continuation: CheckedContinuation<Answer, Never>? = state.withLock { state in
            if let index = state.queue.firstIndex(where: { $0.number == number }) {
                return state.queue.remove(at: index).continuation
            }
            if let running = state.running.removeValue(forKey: number) { return running }
            state.cancelled.insert(number)
            return nil
        }
        continuation?.resume(returning: .failure(.cancelled(host: host)))
    }

    private func startThread() {
        do throws(SystemError) {
            // The name services that the system loads as plug-ins need more than the smallest stack.
            _ = try SystemThread(name: "bird-resolver", stackBytes: 512 * 1024, isDetached: true) {
                while let request = self.nextRequest() {
                    self.finish(request, self.lookup(request.host, request.port))
                }
            }
        } catch {
            // Without any thread nobody would ever serve the queue.
            let stranded = state.withLock { state in
                state.threads -= 1
                return state.threads == 0 ? exchange(&state.queue, with: []) : []
            }
            for request in stranded {
                let failure = ResolveError.failed(
                    host: request.host, reason: error.description, isTemporary: true)
                request.continuation.resume(returning: .failure(failure))
            }
        }
    }

    /// The next request for a thread; without one the thread no longer counts and has to end.
    private func nextRequest() -> Request? {
        state.withLock { state in
            guard !state.queue.isEmpty else {
                state.threads -= 1
                return nil
            }
            let request = state.queue.removeFirst()
            state.running[request.number] = request.continuation
            return request
        }
    }

    private func finish(_ request: Request, _ answer: Answer) {
        let continuation = state.withLock { $0.running.removeValue(forKey: request.number) }
        continuation?.resume(returning: answer)
    }
}
