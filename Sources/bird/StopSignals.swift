import Dispatch
import Foundation

/// SIGINT and SIGTERM as an event: the first asks for an orderly end, the second ends at once.
final class StopSignals: Sendable {
    // Dispatch sources may be used from any thread; they are made here and only cancelled.
    private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

    init(_ onStop: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "bird.signals")
        let asked = Once(onStop)
        sources = [SIGINT, SIGTERM].map { number in
            // The default action would end the process before the source hears of it.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                if !asked() { exit(128 + number) }
            }
            source.resume()
            return source
        }
    }

    deinit {
        for source in sources { source.cancel() }
    }
}
