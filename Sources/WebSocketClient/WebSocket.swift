public import WebSocketCore

/// A WebSocket for tasks: connect, iterate over its messages, send, close. To be used from any task.
///
/// ```swift
/// let socket = try await WebSocket.connect(to: "wss://example.com/feed")
/// try await socket.send("hello")
/// for try await message in socket.messages { print(message) }
/// ```
///
/// Who does not iterate does not read: the socket is left alone once `readHighWater` bytes wait, and the peer has to wait.
/// Letting go of the last reference closes the connection with 1001.
public final class WebSocket: Sendable {
    /// A whole message.
    public enum Message: Sendable, Equatable {
        case text(String)
        case binary([UInt8])
    }

    /// What was agreed on in the opening handshake.
    public let agreement: WebSocketAgreement
    let handle: WebSocketHandle
    let inbox: Inbox

    init(_ agreement: WebSocketAgreement, _ handle: WebSocketHandle, _ inbox: Inbox) {
        self.agreement = agreement
        self.handle = handle
        self.inbox = inbox
    }

    deinit {
        handle.close(.goingAway)
        inbox.abandon()
    }

    /// Connects, within `options.connectTimeout` all together.
    ///
    /// - Parameter url: `ws://` or `wss://`, without a fragment.
    /// - Throws: `WebSocketError`; `CancellationError` when the task was cancelled. Nothing is left behind then.
    public static func connect(
        to url: String, options: WebSocketOptions = WebSocketOptions()
    ) async throws -> WebSocket {
        try Task.checkCancellation()
        let inbox = Inbox(options)
        let driver = WebSocketDriver(role: .client, settings: .init(options), handler: inbox, loop: .shared)
        driver.startDialing(url, options)
        return try await withTaskCancellationHandler {
            try await inbox.opened()
        } onCancel: {
            WebSocketHandle(driver: driver).abort()
        }
    }

    /// The messages, in order. Ends with the closing handshake; throws `WebSocketError` for any other end.
    ///
    /// One task at a time may iterate. Cancelling it ends the iteration with `CancellationError` and leaves the connection
    /// as it is; iterating again goes on with the next message.
    public var messages: Messages { Messages(socket: self) }

    /// The messages as streams of bytes, for those too large to be held; needs `options.streamsMessages`.
    public var streams: MessageStreams { MessageStreams(socket: self) }

    /// Sends a text message. Suspends while more than `writeHighWater` bytes wait to be written.
    ///
    /// Messages of one task keep their order.
    /// - Throws: `WebSocketError` when the connection is closed; `CancellationError` when cancelled while waiting, and then
    ///   nothing was sent.
    public func send(_ text: String) async throws {
        try await handle.driver.send(.text, Array(text.utf8))
    }

    /// Sends a binary message; otherwise as `send(_:)` of a text.
    public func send(_ bytes: [UInt8]) async throws {
        try await handle.driver.send(.binary, bytes)
    }

    /// Sends one message in pieces, each a frame, as `body` writes them. Other messages wait until it is complete.
    ///
    /// When `body` throws, the message can be neither completed nor taken back, and the connection is closed with 1011.
    public func send<Result>(
        _ kind: MessageKind, _ body: (MessageWriter) async throws -> Result
    ) async throws -> Result {
        let driver = handle.driver
        let number = try await driver.beginMessage()
        let writer = MessageWriter(driver: driver, kind: kind, number: number)
        do {
            let result = try await body(writer)
            try await writer.finish()
            await driver.endMessage(number, isComplete: true)
            return result
        } catch {
            await driver.endMessage(number, isComplete: false)
            throw error
        }
    }

    /// Pings the peer and gives the time until its pong.
    ///
    /// - Throws: `WebSocketError` when the connection ends first, `CancellationError` when the task is cancelled.
    public func ping() async throws -> Duration {
        let answer = Answer<Duration>()
        handle.ping { answer.finish($0.mapError { $0 }) }
        return try await answer.value()
    }

    /// Closes: what waits is written, then the close frame, and the peer's is awaited, for `closeTimeout` at most.
    ///
    /// Messages that arrive meanwhile are dropped. Does not throw: how it went is in `closeInfo`.
    public func close(code: CloseCode = .normalClosure, reason: String = "") async {
        handle.close(code, reason: reason)
        _ = await inbox.ended()
    }

    /// Ends the connection now, without a closing handshake.
    public func abort() {
        handle.abort()
    }

    /// How the connection ended; nil while it goes on.
    public var closeInfo: CloseInfo? { inbox.end?.closeInfo }

    /// Waits until the connection has ended, whoever ends it.
    public func closed() async -> WebSocketEnd {
        await inbox.ended()
    }
}

/// Writes one message in pieces.
public struct MessageWriter: Sendable {
    let driver: WebSocketDriver
    let kind: MessageKind
    let number: UInt64
    private let progress = Progress()

    /// Only one task writes a message, but the writer may be handed between tasks.
    private actor Progress {
        var hasBegun = false

        func begin() -> Bool {
            defer { hasBegun = true }
            return !hasBegun
        }
    }

    init(driver: WebSocketDriver, kind: MessageKind, number: UInt64) {
        self.driver = driver
        self.kind = kind
        self.number = number
    }

    /// Sends the next piece. Suspends as `WebSocket.send` does. Text may be cut inside a character.
    public func write(_ bytes: [UInt8]) async throws {
        let isFirst = await progress.begin()
        try await driver.sendFragment(kind, bytes, isFirst: isFirst, isFinal: false, writer: number)
    }

    /// Sends the next piece of a text.
    public func write(_ text: String) async throws {
        try await write(Array(text.utf8))
    }

    func finish() async throws {
        let isFirst = await progress.begin()
        try await driver.sendFragment(kind, [], isFirst: isFirst, isFinal: true, writer: number)
    }
}
