import Synchronization

/// Says whether the events of one connection are still wanted: `disconnect()` ends the lease of everything that came
/// before it, so that no handler of an event runs after that call returned on the delivery queue.
final class DeliveryLease: Sendable {
    private let valid = Atomic<Bool>(true)

    var isValid: Bool { valid.load(ordering: .acquiring) }

    func end() {
        valid.store(false, ordering: .releasing)
    }
}
