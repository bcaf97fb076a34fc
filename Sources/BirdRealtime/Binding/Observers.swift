import Synchronization

/// Handlers of one kind that are not tied to an event name: of states, of errors. Each hears what happens after it was
/// registered, and nothing that happened before.
final class Observers<Input: Sendable>: Sendable {
    /// One registered observer.
    final class Observer: Sendable {
        let token = BindingToken()
        private let handler: @Sendable (Input) -> Void
        private let isBound = Atomic<Bool>(true)

        init(_ handler: @escaping @Sendable (Input) -> Void) {
            self.handler = handler
        }

        func cut() {
            isBound.store(false, ordering: .releasing)
        }

        func callAsFunction(_ input: Input) {
            guard isBound.load(ordering: .acquiring) else { return }
            handler(input)
        }
    }

    private struct State {
        var observers: [Observer] = []
        var serial = 0
        var last: Input?
        var isDead = false
    }

    private let state = Mutex(State())

    /// The observer, and the number of things it was registered after.
    func add(_ handler: @escaping @Sendable (Input) -> Void) -> (observer: Observer, serial: Int) {
        let observer = Observer(handler)
        return state.withLock { state in
            if !state.isDead { state.observers.append(observer) }
            return (observer, state.serial)
        }
    }

    /// Something happened: who hears of it.
    func happened(_ input: Input) -> [Observer] {
        state.withLock { state in
            state.serial += 1
            state.last = input
            return state.observers
        }
    }

    /// The last thing that happened after the first `serial` ones.
    func last(after serial: Int) -> Input? {
        state.withLock { $0.serial > serial ? $0.last : nil }
    }

    func remove(_ token: BindingToken) {
        let removed = state.withLock { state -> Observer? in
            guard let index = state.observers.firstIndex(where: { $0.token == token }) else { return nil }
            return state.observers.remove(at: index)
        }
        removed?.cut()
    }

    func die() {
        let removed = state.withLock { state -> [Observer] in
            state.isDead = true
            defer { state.observers = [] }
            return state.observers
        }
        for observer in removed { observer.cut() }
    }
}
