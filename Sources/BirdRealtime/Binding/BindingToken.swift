import Synchronization

/// Names one registered handler, for `unbind` and `remove`. Letting go of it does not remove the handler.
public struct BindingToken: Sendable, Hashable {
    private let id: UInt64

    private static let lastID = Atomic<UInt64>(0)

    init() {
        id = BindingToken.lastID.add(1, ordering: .relaxed).newValue
    }
}
