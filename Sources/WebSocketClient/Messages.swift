public import WebSocketCore

/// The whole messages of a WebSocket, in order.
public struct Messages: AsyncSequence, Sendable {
    /// A whole message.
    public typealias Element = WebSocket.Message
    /// `WebSocketError`, or `CancellationError` when the task that waits is cancelled.
    public typealias Failure = any Error

    // The socket itself: while somebody iterates, it is in use.
    let socket: WebSocket

    /// Iterators of one socket share what arrives.
    public func makeAsyncIterator() -> Iterator { Iterator(socket: socket) }

    /// Waits for what arrives.
    public struct Iterator: AsyncIteratorProtocol {
        let socket: WebSocket

        /// The next message; nil after a closing handshake.
        public mutating func next() async throws -> WebSocket.Message? {
            guard var item = try await socket.inbox.nextBeginning() else { return nil }
            if item.isFinal { return Self.message(item.kind, item.bytes) }
            // The socket streams its messages: this puts one together again.
            var bytes = item.bytes
            while !item.isFinal {
                guard let more = try await socket.inbox.next() else { return nil }
                bytes += more.bytes
                item = more
            }
            return Self.message(item.kind, bytes)
        }

        private static func message(_ kind: MessageKind, _ bytes: [UInt8]) -> WebSocket.Message {
            kind == .text ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes)
        }
    }
}

/// The messages of a WebSocket as streams of bytes, in order.
public struct MessageStreams: AsyncSequence, Sendable {
    /// One message as a stream.
    public typealias Element = IncomingMessage
    /// `WebSocketError`, or `CancellationError` when the task that waits is cancelled.
    public typealias Failure = any Error

    // The socket itself: while somebody iterates, it is in use.
    let socket: WebSocket

    /// Iterators of one socket share what arrives.
    public func makeAsyncIterator() -> Iterator { Iterator(socket: socket) }

    /// Waits for what arrives.
    public struct Iterator: AsyncIteratorProtocol {
        let socket: WebSocket
        private var last: IncomingMessage?

        init(socket: WebSocket) {
            self.socket = socket
        }

        /// The next message. What was not read of the last one is dropped.
        public mutating func next() async throws -> IncomingMessage? {
            if let last {
                var rest = last.makeAsyncIterator()
                while try await rest.next() != nil {}
            }
            guard let item = try await socket.inbox.nextBeginning() else { return nil }
            let message = IncomingMessage(item, socket)
            last = message
            return message
        }
    }
}

/// One message that is read piece by piece, as it arrives. Text may be cut inside a character.
public struct IncomingMessage: AsyncSequence, Sendable {
    /// A piece of the message, never empty.
    public typealias Element = [UInt8]
    /// `WebSocketError`, or `CancellationError` when the task that waits is cancelled.
    public typealias Failure = any Error

    /// Text or binary.
    public let kind: MessageKind
    private let reading: Reading

    init(_ item: Inbox.Item, _ socket: WebSocket) {
        kind = item.kind
        reading = Reading(item, socket)
    }

    /// Iterators of one socket share what arrives.
    public func makeAsyncIterator() -> Iterator { Iterator(reading: reading) }

    /// Waits for what arrives.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reading: Reading

        /// The next piece; nil at the message's end.
        public mutating func next() async throws -> [UInt8]? {
            try await reading.next()
        }
    }

    /// How far the message has been read, wherever it is read from.
    fileprivate actor Reading {
        private var pending: Inbox.Item?
        private var isOver = false
        private let socket: WebSocket

        init(_ item: Inbox.Item, _ socket: WebSocket) {
            pending = item
            self.socket = socket
        }

        func next() async throws -> [UInt8]? {
            while !isOver {
                let item: Inbox.Item
                if let first = pending.take() {
                    item = first
                } else {
                    guard let more = try await socket.inbox.next() else { return nil }
                    item = more
                }
                isOver = item.isFinal
                if !item.bytes.isEmpty { return item.bytes }
            }
            return nil
        }
    }
}
