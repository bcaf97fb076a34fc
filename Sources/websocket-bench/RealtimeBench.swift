import BirdRealtime
import Dispatch
import Foundation
import Synchronization

/// Events of one channel through the whole client, with the handler a program would have.
enum RealtimeBench {
    private struct Order: Decodable, Sendable {
        let status: String
    }

    /// What the handlers found, all on one queue or thread.
    private struct Progress: Sendable {
        var events = 0
        var shipped = 0
    }

    /// `url` ends in `/realtime?count=M`; the client makes its own, with the app key `nM`.
    static func run(_ url: String, handler: String) async throws {
        guard let parts = URLComponents(string: url), let host = parts.host, let port = parts.port,
            let count = parts.queryItems?.first(where: { $0.name == "count" })?.value
        else { throw Failure("'\(url)' has no host, port and count") }
        var options = BirdRealtimeOptions(
            appKey: "n\(count)", wsHost: "\(host):\(port)", allowInsecure: parts.scheme == "ws")
        options.autoConnect = false
        options.delivery = handler == "raw" ? .inline : .onQueue
        if let file = ProcessInfo.processInfo.environment["BENCH_CA_FILE"] { options.tls.trust = .file(file) }
        let bird = BirdRealtime(options: options, deliveryQueue: DispatchQueue(label: "events"))
        let progress = Mutex(Progress())
        let span = Mutex(Span())
        let channel = bird.subscribe("orders")
        channel.bind(BirdProtocol.Event.subscriptionSucceeded) { _ in span.withLock { $0 = Span() } }
        switch handler {
        case "any":
            channel.bind("order-updated") { data in
                let isShipped = (data as? [String: Any])?["status"] as? String == "shipped"
                progress.withLock {
                    $0.events += 1; $0.shipped += isShipped ? 1 : 0
                }
            }
        case "typed":
            channel.bind("order-updated", as: Order.self) { order in
                progress.withLock {
                    $0.events += 1; $0.shipped += order.status == "shipped" ? 1 : 0
                }
            }
        case "raw":
            channel.bindData("order-updated") { data in
                progress.withLock {
                    $0.events += 1; $0.shipped += data.rawBytes.isEmpty ? 0 : 1
                }
            }
        case "none":
            break
        default:
            throw Failure("there is no handler '\(handler)'")
        }
        let line = await withCheckedContinuation { continuation in
            channel.bindData("done") { _ in
                let (seconds, cpu) = span.withLock { ($0.seconds, $0.cpu) }
                let events = handler == "none" ? Int(count) ?? 0 : progress.withLock { $0.events }
                continuation.resume(
                    returning: "{\"events\":\(events),\"seconds\":\(seconds),"
                        + "\"events_per_s\":\(Double(events) / seconds),\"cpu_s\":\(cpu)}")
            }
            bird.connect()
        }
        let found = progress.withLock { $0 }
        guard found.shipped == found.events else {
            throw Failure("\(found.shipped) of \(found.events) events fit")
        }
        print(line)
    }
}
