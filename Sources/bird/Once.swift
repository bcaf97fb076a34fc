import Synchronization

/// An action that runs the first time it is called and never again.
final class Once: Sendable {
    private let action: Mutex<(@Sendable () -> Void)?>

    init(_ action: @escaping @Sendable () -> Void) {
        self.action = Mutex(action)
    }

    /// Whether this call was the one that ran it.
    @discardableResult
    func callAsFunction() -> Bool {
        let action = action.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
        return action != nil
    }
}
