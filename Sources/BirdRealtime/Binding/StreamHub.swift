import Synchronization

/// A sequence of what happens from the moment it was made, for one reader. It ends when its source ends.
///
/// It holds a bounded number of elements for the reader; what does not fit is dropped and counted.
public struct RealtimeSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// Reads a ``RealtimeSequence``.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var base: AsyncStream<Element>.Iterator

        /// The next element; nil at the end, or when the reading task is cancelled.
        public mutating func next() async -> Element? {
            await next(isolation: #isolation)
        }

        /// The next element; nil at the end, or when the reading task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await base.next(isolation: actor)
        }
    }

    let base: AsyncStream<Element>
    let dropped: DropCounter

    /// How many elements were dropped because the reader was too far behind.
    public var droppedCount: Int { dropped.count }

    /// An iterator. Elements go to one reader only; several iterators share them.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: base.makeAsyncIterator())
    }
}

/// Counts what a reader was too slow for.
final class DropCounter: Sendable {
    private let value = Atomic<Int>(0)

    var count: Int { value.load(ordering: .relaxed) }

    func increment() {
        value.add(1, ordering: .relaxed)
    }
}

/// The readers of one source.
final class StreamHub<Element: Sendable>: Sendable {
    private struct Reader: Sendable {
        let id: BindingToken
        let filter: @Sendable (Element) -> Bool
        let continuation: AsyncStream<Element>.Continuation
        let dropped: DropCounter
    }

    private struct State {
        var readers: [Reader] = []
        var isFinished = false
    }

    private let state = Mutex(State())

    var isEmpty: Bool { state.withLock { $0.readers.isEmpty } }

    func open(
        _ policy: AsyncStream<Element>.Continuation.BufferingPolicy,
        where filter: @escaping @Sendable (Element) -> Bool
    ) -> RealtimeSequence<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: policy)
        let reader = Reader(
            id: BindingToken(), filter: filter, continuation: continuation, dropped: DropCounter())
        let isFinished = state.withLock { state in
            if !state.isFinished { state.readers.append(reader) }
            return state.isFinished
        }
        if isFinished {
            continuation.finish()
        } else {
            continuation.onTermination = { [weak self] _ in self?.remove(reader.id) }
        }
        return RealtimeSequence(base: stream, dropped: reader.dropped)
    }

    func yield(_ element: Element) {
        for reader in state.withLock({ $0.readers }) where reader.filter(element) {
            if case .dropped = reader.continuation.yield(element) { reader.dropped.increment() }
        }
    }

    func finish() {
        let readers = state.withLock { state in
            state.isFinished = true
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers { reader.continuation.finish() }
    }

    private func remove(_ id: BindingToken) {
        state.withLock { $0.readers.removeAll { $0.id == id } }
    }
}
