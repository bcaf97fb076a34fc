extension LoopbackEdge {
    /// The entries of the log one after the other, from the first one that is kept on, and those to come.
    ///
    /// ```swift
    /// for try await entry in edge.entries { print(entry) }
    /// ```
    ///
    /// The sequence ends when the edge stops. Cancelling the task throws `CancellationError`. Entries that
    /// ``Configuration/maxLogEntries`` drops before a slow reader came to them are passed over.
    public var entries: Entries { Entries(book: book) }

    /// See ``LoopbackEdge/entries``.
    public struct Entries: AsyncSequence, Sendable {
        let book: LogBook

        /// Makes a reader that starts with the oldest entry.
        public func makeAsyncIterator() -> Iterator { Iterator(book: book) }

        /// A reader with a place of its own.
        public struct Iterator: AsyncIteratorProtocol {
            let book: LogBook
            private var next = 0

            init(book: LogBook) { self.book = book }

            /// The next entry; nil when the edge has stopped and all are read.
            public mutating func next() async throws -> Entry? {
                let wanted = next
                do {
                    let (entry, index) = try await book.first { log -> (Entry, Int)? in
                        let index = Swift.max(0, wanted - log.droppedEntries)
                        guard index < log.entries.count else { return nil }
                        return (log.entries[index], log.droppedEntries + index)
                    }
                    next = index + 1
                    return entry
                } catch WaitError.stopped {
                    return nil
                }
            }
        }
    }
}

extension LoopbackEdge.Entry: CustomStringConvertible {
    /// One line for people.
    public var description: String {
        switch self {
        case .accepted(let connection): "#\(connection) accepted"
        case .upgraded(let connection, let request): "#\(connection) upgraded: \(request.target)"
        case .refused(let connection, let reason): "#\(connection) refused: \(reason)"
        case .message(let message): "#\(message.connection) \(message.direction.arrow) \(message.text)"
        case .control(let frame): "#\(frame.connection) \(frame.direction.arrow) \(frame.kind)"
        case .violation(let connection, let code, let message): "#\(connection) violation \(code): \(message)"
        case .injected(let connection, let fault): "#\(connection) injected: \(fault)"
        case .ended(let connection, let end): "#\(connection) ended: \(end)"
        case .authRequested(let request):
            "auth ← \(request.path) \(String(decoding: request.body, as: UTF8.self))"
        case .auth(let exchange): "auth → \(exchange.status) \(exchange.answer)"
        }
    }
}

extension LoopbackEdge.Direction {
    fileprivate var arrow: String {
        switch self {
        case .received: "←"
        case .sent: "→"
        }
    }
}

extension LoopbackEdge.ControlFrame.Kind: CustomStringConvertible {
    /// The frame in words, with a payload as its length.
    public var description: String {
        switch self {
        case .ping(let payload): "ping of \(payload.count) bytes"
        case .pong(let payload): "pong of \(payload.count) bytes"
        case .close(let code?, let reason): "close \(code) \"\(reason)\""
        case .close(nil, _): "close without a code"
        }
    }
}

extension LoopbackEdge.WaitError: CustomStringConvertible {
    /// What ended the wait, with the newest entries of the log.
    public var description: String {
        switch self {
        case .stopped: "the edge was stopped"
        case .timedOut(let log):
            "the edge waited in vain; the end of its log:\n"
                + log.entries.suffix(20).map { "  \($0)" }.joined(separator: "\n")
        }
    }
}
