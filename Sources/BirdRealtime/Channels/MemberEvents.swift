public import Foundation
import Synchronization

/// Events for the signed-in member alone, on whichever connection the member is. See ``BirdRealtime/member``.
///
/// Every method may be called from any thread, also inside handlers and before `signin()`. Handlers stay when the
/// connection goes; the member's events come again after the next sign-in.
public final class MemberEvents: Sendable {
    let handlers = HandlerTable()
    let streams = StreamHub<ChannelEvent>()
    private let engine = Mutex(WeakEngine())

    /// Who of the members that the signed-in member watches came or went.
    public let watchlist = Watchlist()

    init() {}

    func attach(_ engine: Engine) {
        self.engine.withLock { $0.engine = engine }
        watchlist.attach(engine)
    }

    /// Calls `handler` with the decoded data of each event of this name. See ``Channel/bind(_:_:)``.
    @discardableResult
    public func bind(_ event: String, _ handler: @escaping @Sendable (Any?) -> Void) -> BindingToken {
        handlers.bind(event, .value(handler))
    }

    /// Calls `handler` with the name and the decoded data of every event, before handlers of the name.
    @discardableResult
    public func bindGlobal(_ handler: @escaping @Sendable (String, Any?) -> Void) -> BindingToken {
        handlers.bindGlobal(.namedValue(handler))
    }

    /// Calls `handler` with the data of each event of this name decoded as a `type`. Data that does not fit is
    /// reported on `onError`.
    @discardableResult
    public func bind<Value: Decodable & SendableMetatype>(
        _ event: String, as type: Value.Type, decoder: JSONDecoder = JSONDecoder(),
        _ handler: @escaping @Sendable (Value) -> Void
    ) -> BindingToken {
        let engine = engine.withLock { $0.engine }
        return handlers.bind(
            event, .decoding(type, decoder, of: event, on: "the member channel", engine, handler))
    }

    /// Calls `handler` with the undecoded data of each event of this name.
    @discardableResult
    public func bindData(_ event: String, _ handler: @escaping @Sendable (EventData) -> Void) -> BindingToken
    {
        handlers.bind(event, .data(handler))
    }

    /// Removes the handler with this token from the event, or every handler of the event when no token is given.
    public func unbind(_ event: String, _ token: BindingToken? = nil) {
        handlers.unbind(event, token)
    }

    /// Removes the global handler with this token, or every global handler when no token is given.
    public func unbindGlobal(_ token: BindingToken? = nil) {
        handlers.unbindGlobal(token)
    }

    /// Removes every handler, the global ones too.
    public func unbindAll() {
        handlers.unbindAll(includingGlobal: true)
    }

    /// The member's events from now on, as a sequence for one reader. See
    /// ``Channel/events(bufferingUpTo:includingLifecycle:)``.
    public func events(bufferingUpTo limit: Int = 1024) -> RealtimeSequence<ChannelEvent> {
        streams.open(.bufferingOldest(max(1, limit))) { _ in true }
    }

    func die() {
        handlers.kill()
        streams.finish()
        watchlist.die()
    }
}

/// A reference that a lock guards.
struct WeakEngine: Sendable {
    weak var engine: Engine?
}

/// The watchlist of the signed-in member: events `online` and `offline`, whose data are the ids as `[String]`.
///
/// The service sends who is online right after a sign-in. What came since the sign-in while nobody had bound is kept
/// for the first handler, so that binding right after `signin()` returned loses nothing.
public final class Watchlist: Sendable {
    private struct Missed {
        var events: [(name: String, ids: [String])] = []
        weak var engine: Engine?
    }

    private let handlers = HandlerTable()
    private let missed = Mutex(Missed())

    /// As many events as are kept for a handler that binds late.
    private static let maxMissed = 1024

    init() {}

    func attach(_ engine: Engine) {
        missed.withLock { $0.engine = engine }
    }

    /// Calls `handler` with the ids (`[String]`) of each event of this name: `online` or `offline`.
    @discardableResult
    public func bind(_ event: String, _ handler: @escaping @Sendable (Any?) -> Void) -> BindingToken {
        let token = BindingToken()
        bindLate(token, .value(handler), to: event)
        return token
    }

    /// Calls `handler` with the name and the ids (`[String]`) of every event, before handlers of the name.
    @discardableResult
    public func bindGlobal(_ handler: @escaping @Sendable (String, Any?) -> Void) -> BindingToken {
        let token = BindingToken()
        bindLate(token, .namedValue(handler), to: nil)
        return token
    }

    /// Removes the handler with this token from the event, or every handler of the event when no token is given.
    public func unbind(_ event: String, _ token: BindingToken? = nil) {
        handlers.unbind(event, token)
    }

    /// Removes the global handler with this token, or every global handler when no token is given.
    public func unbindGlobal(_ token: BindingToken? = nil) {
        handlers.unbindGlobal(token)
    }

    /// Removes every handler, the global ones too.
    public func unbindAll() {
        handlers.unbindAll(includingGlobal: true)
    }

    /// Registers the handler, and has what it missed delivered to it in its turn.
    private func bindLate(_ token: BindingToken, _ handler: Handler, to event: String?) {
        let (binding, late, engine) = missed.withLock { missed in
            let binding = handlers.add(handler, token, to: event)
            let late = missed.events.filter { event == nil || $0.name == event }
            missed.events.removeAll { event == nil || $0.name == event }
            return (binding, late, missed.engine)
        }
        guard !late.isEmpty, let engine else { return }
        engine.deliver(
            .call {
                for (name, ids) in late { binding.call(name, ids) }
            })
    }

    /// On the delivery queue.
    func deliver(_ name: String, _ ids: [String]) {
        let bindings = missed.withLock { missed -> [Binding] in
            let bindings = handlers.bindings(for: name)
            if bindings.isEmpty, missed.events.count < Watchlist.maxMissed {
                missed.events.append((name, ids))
            }
            return bindings
        }
        for binding in bindings { binding.call(name, ids) }
    }

    /// On the delivery queue: another identity, or none.
    func forget() {
        missed.withLock { $0.events = [] }
    }

    func die() {
        handlers.kill()
        forget()
    }
}
