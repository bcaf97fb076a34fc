import SystemIO

/// A connection being made. Part of its driver's state.
final class Dial {
    var phase = WebSocketError.Phase.resolving
    var task: Task<Void, Never>?
    var timer: TimerID?
    /// Why it was given up; that counts, not the cancellation it shows as.
    private(set) var failure: WebSocketError?

    func cancel(_ error: WebSocketError) {
        guard failure == nil else { return }
        failure = error
        task?.cancel()
    }
}
