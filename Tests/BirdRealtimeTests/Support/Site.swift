import BirdRealtimeTestKit
import Dispatch

@testable import BirdRealtime

/// A running edge and the options of a client of it.
final class Site: Sendable {
    let edge: LoopbackEdge
    let queue = DispatchQueue(label: "test.delivery")

    init(_ change: (inout LoopbackEdge.Configuration) -> Void = { _ in }) async throws {
        var configuration = LoopbackEdge.Configuration()
        change(&configuration)
        edge = LoopbackEdge(configuration)
        try await edge.start()
    }

    var options: BirdRealtimeOptions {
        var options = edge.options()
        options.authTimeout = 55
        options.connectTimeout = 55
        options.reconnectPolicy.baseDelay = .milliseconds(20)
        options.reconnectPolicy.maximumDelay = .milliseconds(50)
        return options
    }

    func client(_ change: (inout BirdRealtimeOptions) -> Void = { _ in }) -> BirdRealtime {
        var options = options
        change(&options)
        return BirdRealtime(options: options, deliveryQueue: queue)
    }
}
