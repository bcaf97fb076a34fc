import Synchronization
import SystemIO
import WebSocketClient

/// Writes down what a connection tells its handler, and lets a test react to it and wait for it.
final class Recorder: WebSocketHandler {
    enum Entry: Equatable, Sendable {
        case opened
        case text(String)
        case binary([UInt8])
        case fragment(String, isFirst: Bool, isFinal: Bool)
        case writable
        case ended
    }

    typealias Reaction = @Sendable (Entry, WebSocketHandle) -> Void

    private struct State {
        var entries: [Entry] = []
        var count = 0
        var pauses = 0
        var link: WebSocketHandle?
        var end: WebSocketEnd?
        var agreement: WebSocketAgreement?
    }

    private let state = Mutex(State())
    private let changes: AsyncStream<Void>
    private let change: AsyncStream<Void>.Continuation
    private let keeps: Bool
    private let react: Reaction

    /// - Parameters:
    ///   - keeps: whether messages are written down, or only counted.
    ///   - react: called on the loop's thread after an entry has been written down, `ended` excepted.
    init(keeps: Bool = true, react: @escaping Reaction = { _, _ in }) {
        self.keeps = keeps
        self.react = react
        (changes, change) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var entries: [Entry] { state.withLock { $0.entries } }
    var messageCount: Int { state.withLock { $0.count } }
    var pauseCount: Int { state.withLock { $0.pauses } }
    var link: WebSocketHandle? { state.withLock { $0.link } }
    var agreement: WebSocketAgreement? { state.withLock { $0.agreement } }
    var texts: [String] {
        entries.compactMap { if case .text(let text) = $0 { text } else { nil } }
    }

    /// Waits until a condition on what has been written down holds, or the connection has ended. One task at a time.
    func wait(until isMet: @Sendable ([Entry]) -> Bool) async {
        if isMet(entries) || state.withLock({ $0.end != nil }) { return }
        for await _ in changes {
            if isMet(entries) || state.withLock({ $0.end != nil }) { return }
        }
    }

    func wait(for entry: Entry) async {
        await wait { $0.contains(entry) }
    }

    /// Waits for the end.
    func end() async -> WebSocketEnd? {
        await wait { $0.contains(.ended) }
        return state.withLock { $0.end }
    }

    private func note(_ entry: Entry, _ link: WebSocketHandle, isMessage: Bool = false) {
        state.withLock { state in
            if isMessage { state.count += 1 }
            if keeps || !isMessage { state.entries.append(entry) }
        }
        react(entry, link)
        change.yield()
    }

    func opened(_ agreement: WebSocketAgreement, _ link: WebSocketHandle) {
        state.withLock { state in
            state.link = link
            state.agreement = agreement
        }
        note(.opened, link)
    }

    func received(_ kind: MessageKind, _ bytes: RawSpan, _ link: WebSocketHandle) {
        let bytes = bytes.withUnsafeBytes { Array($0) }
        note(
            kind == .text ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes), link,
            isMessage: true)
    }

    func receivedFragment(
        _ kind: MessageKind, _ bytes: RawSpan, isFirst: Bool, isFinal: Bool, _ link: WebSocketHandle
    ) {
        let bytes = bytes.withUnsafeBytes { Array($0) }
        note(
            .fragment(String(decoding: bytes, as: UTF8.self), isFirst: isFirst, isFinal: isFinal), link,
            isMessage: true)
    }

    func paused(_ link: WebSocketHandle) {
        state.withLock { $0.pauses += 1 }
    }

    func writable(_ link: WebSocketHandle) {
        note(.writable, link)
    }

    func ended(_ end: WebSocketEnd) {
        state.withLock { state in
            // A second end stays to be seen.
            state.entries.append(.ended)
            state.end = end
            state.link = nil
        }
        change.yield()
    }
}

/// Connects with the callback face; patiently, where the options do not say how long a test wants to wait.
func connect(
    _ server: ScriptedServer, _ recorder: Recorder, _ options: WebSocketOptions = WebSocketOptions()
) -> WebSocketHandle {
    var options = options
    if options.connectTimeout == WebSocketOptions().connectTimeout { options.connectTimeout = .seconds(110) }
    return WebSocketHandle.connect(to: server.url, options: options, handler: recorder)
}

/// Lets the loop that serves all connections go round a number of times.
func rounds(_ count: Int) async {
    for _ in 0..<count { await EventLoop.shared.run {} }
}

/// The error of an operation that has to fail with one of ours.
func webSocketError(
    _ operation: () async throws -> Void
) async -> WebSocketError? {
    do {
        try await operation()
        return nil
    } catch {
        return error as? WebSocketError
    }
}

/// A seeded generator: a failure replays from its seed.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
