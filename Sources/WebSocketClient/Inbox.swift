import Synchronization
import WebSocketCore

/// What has arrived and waits for the task that iterates; bounded by pausing the socket.
final class Inbox: WebSocketHandler {
    /// A message, or a piece of one.
    struct Item: Sendable {
        let kind: MessageKind
        let bytes: [UInt8]
        let isFirst: Bool
        let isFinal: Bool
    }

    private struct State {
        var items = Deque()
        var byteCount = 0
        var isPaused = false
        var isAbandoned = false
        var end: WebSocketEnd?
        /// Tasks that wait; one that was cancelled may still be among them.
        var readers: [Answer<Item?>] = []
        var endWaiters: [CheckedContinuation<WebSocketEnd, Never>] = []
        var handle: WebSocketHandle?
    }

    private let highWater: Int
    private let opening = Answer<(WebSocketAgreement, WebSocketHandle)>()
    private let state = Mutex(State())

    init(_ options: WebSocketOptions) {
        highWater = max(options.readHighWater, 1)
    }

    // MARK: On the loop's thread

    func opened(_ agreement: WebSocketAgreement, _ link: WebSocketHandle) {
        state.withLock { $0.handle = link }
        opening.finish(.success((agreement, link)))
    }

    func received(_ kind: MessageKind, _ bytes: RawSpan, _ link: WebSocketHandle) {
        receivedFragment(kind, bytes, isFirst: true, isFinal: true, link)
    }

    func receivedFragment(
        _ kind: MessageKind, _ bytes: RawSpan, isFirst: Bool, isFinal: Bool, _ link: WebSocketHandle
    ) {
        let item = Item(
            kind: kind, bytes: bytes.withUnsafeBytes { Array($0) }, isFirst: isFirst, isFinal: isFinal)
        while true {
            let (reader, pauses) = state.withLock { state -> (Answer<Item?>?, Bool) in
                if state.isAbandoned { return (nil, false) }
                if !state.readers.isEmpty { return (state.readers.removeFirst(), false) }
                state.items.append(item)
                // An item costs memory beside its bytes: a flood of empty messages is a flood as well.
                state.byteCount += item.bytes.count + 64
                let pauses = !state.isPaused && state.byteCount > highWater
                if pauses { state.isPaused = true }
                return (nil, pauses)
            }
            if pauses { link.pauseReading() }
            // A task that was cancelled at this very moment leaves the item to the next one.
            if reader?.offer(item) ?? true { return }
        }
    }

    func ended(_ end: WebSocketEnd) {
        let (readers, waiters) = state.withLock { state in
            state.end = end
            state.handle = nil
            defer {
                state.readers = []
                state.endWaiters = []
            }
            return (state.readers, state.endWaiters)
        }
        if let error = end.error { opening.finish(.failure(error)) }
        opening.finish(.failure(WebSocketError.closed))
        for reader in readers { reader.finish(Self.result(of: end)) }
        for waiter in waiters { waiter.resume(returning: end) }
    }

    // MARK: From tasks

    func opened() async throws -> WebSocket {
        do {
            let (agreement, handle) = try await opening.value()
            return WebSocket(agreement, handle, self)
        } catch let error as WebSocketError where error.kind == .cancelled {
            throw CancellationError()
        }
    }

    /// The next item; nil at the end of a connection that was closed in order.
    func next() async throws -> Item? {
        let answer = Answer<Item?>()
        var resumes: WebSocketHandle?
        state.withLock { state in
            if let item = state.items.popFirst() {
                state.byteCount -= item.bytes.count + 64
                if state.isPaused, state.byteCount <= highWater / 2 {
                    state.isPaused = false
                    resumes = state.handle
                }
                answer.finish(.success(item))
            } else if let end = state.end {
                answer.finish(Self.result(of: end))
            } else {
                state.readers.append(answer)
            }
        }
        resumes?.resumeReading()
        do {
            return try await answer.value()
        } catch {
            state.withLock { $0.readers.removeAll { $0 === answer } }
            throw error
        }
    }

    /// The next beginning of a message. What is left of one that was given up in its middle is dropped.
    func nextBeginning() async throws -> Item? {
        while let item = try await next() {
            if item.isFirst { return item }
        }
        return nil
    }

    func ended() async -> WebSocketEnd {
        await withCheckedContinuation { continuation in
            let end = state.withLock { state in
                if state.end == nil { state.endWaiters.append(continuation) }
                return state.end
            }
            if let end { continuation.resume(returning: end) }
        }
    }

    var end: WebSocketEnd? { state.withLock { $0.end } }

    /// Nobody reads any more: what waits and what comes is dropped, so that the closing handshake gets through.
    func abandon() {
        let handle = state.withLock { state in
            state.isAbandoned = true
            state.items = Deque()
            return state.handle
        }
        handle?.resumeReading()
    }

    private static func result(of end: WebSocketEnd) -> Result<Item?, any Error> {
        if let error = end.error { .failure(error) } else { .success(nil) }
    }

    /// Items in order, taken from the front in constant time.
    private struct Deque {
        private var items: [Item?] = []
        private var first = 0

        mutating func append(_ item: Item) { items.append(item) }

        mutating func popFirst() -> Item? {
            guard first < items.count else { return nil }
            let item = items[first].take()
            first += 1
            if first == items.count {
                items.removeAll(keepingCapacity: items.count <= 1024)
                first = 0
            } else if first >= 1024, first * 2 >= items.count {
                items.removeFirst(first)
                first = 0
            }
            return item
        }
    }
}
