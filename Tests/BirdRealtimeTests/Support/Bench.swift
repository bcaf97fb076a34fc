import Dispatch
import RealtimeCore
import Synchronization

@testable import BirdRealtime

/// A client on scripted sockets and a still clock, with a delivery queue of its own.
struct Bench {
    let sockets = ScriptedSockets()
    let clock = StillClock()
    let queue = DispatchQueue(label: "test.delivery")
    let bird: BirdRealtime

    init(
        _ options: BirdRealtimeOptions = BirdRealtimeOptions(appKey: "key", region: "us1"),
        autoConnect: Bool = true
    ) {
        var options = options
        options.clock = clock
        options.randomSeed = 7
        var parts = EngineParts(options, deliveryQueue: queue)
        parts.connector = sockets
        bird = BirdRealtime(parts, appKey: options.appKey, autoConnect: autoConnect)
    }

    /// Connects with this connection id and returns the socket.
    @discardableResult
    func connected(_ id: String = "1.1") -> ScriptedSockets.Socket {
        bird.connect()
        sockets.last.establishes(id)
        return sockets.last
    }

    /// Everything that was handed to the delivery queue has run when this returns.
    func settle() {
        // Deliveries run in batches, each in a block of its own.
        repeat { queue.sync {} } while !bird.engine.delivery.isIdle
    }
}

/// Collects what handlers hear, on any thread.
final class Heard<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    /// How many there are with this one.
    @discardableResult
    func append(_ element: Element) -> Int {
        elements.withLock { elements in
            elements.append(element)
            return elements.count
        }
    }
    var all: [Element] { elements.withLock { $0 } }
    var count: Int { all.count }
}

/// What a handler was given, as text that can be compared.
func described(_ value: Any?) -> String {
    value.map { String(describing: $0) } ?? "nil"
}

extension Heard where Element == String {
    /// A handler that writes down what it is given.
    var handler: @Sendable (Any?) -> Void { { _ = self.append(described($0)) } }
}

/// Waits until something has come true; what it waits for is driven by other threads. Bounded by the test's time limit.
func until(_ condition: @Sendable () -> Bool) async {
    while !condition() {
        if Task.isCancelled { return }
        await Task.yield()
        try? await Task.sleep(for: .milliseconds(2))
    }
}
