import Foundation
import Synchronization

/// The handlers of one channel, or of the member events.
///
/// Handlers may come and go at any moment, also while an event runs through them: an event reaches the handlers that
/// were there when it began, less those that were removed before their turn.
final class HandlerTable: Sendable {
    private struct Tables {
        var named: [String: [Binding]] = [:]
        var global: [Binding] = []
        var isDead = false
    }

    private let tables = Mutex(Tables())

    func bind(_ event: String, _ handler: Handler) -> BindingToken {
        add(handler, BindingToken(), to: event).token
    }

    func bindGlobal(_ handler: Handler) -> BindingToken {
        add(handler, BindingToken(), to: nil).token
    }

    /// Binds to an event, or to all of them when none is named.
    func add(_ handler: Handler, _ token: BindingToken, to event: String?) -> Binding {
        let binding = Binding(handler, token)
        tables.withLock { tables in
            guard !tables.isDead else { return }
            if let event {
                tables.named[event, default: []].append(binding)
            } else {
                tables.global.append(binding)
            }
        }
        return binding
    }

    /// Removes the handlers of `event`, or only the one with `token`.
    func unbind(_ event: String, _ token: BindingToken?) {
        // Taken out under the lock, let go of after it: what a handler captured may run code when it is freed.
        let removed = tables.withLock { tables -> [Binding] in
            guard var bindings = tables.named[event] else { return [] }
            let removed = bindings.removeBindings(token)
            tables.named[event] = bindings.isEmpty ? nil : bindings
            return removed
        }
        for binding in removed { binding.cut() }
    }

    func unbindGlobal(_ token: BindingToken?) {
        let removed = tables.withLock { $0.global.removeBindings(token) }
        for binding in removed { binding.cut() }
    }

    func unbindAll(includingGlobal: Bool) {
        let removed = tables.withLock { tables -> [Binding] in
            var removed = tables.named.values.flatMap { $0 }
            tables.named = [:]
            if includingGlobal {
                removed += tables.global
                tables.global = []
            }
            return removed
        }
        for binding in removed { binding.cut() }
    }

    /// Removes everything and takes nothing any more.
    func kill() {
        tables.withLock { $0.isDead = true }
        unbindAll(includingGlobal: true)
    }

    /// Global handlers first, then those of the event, each in the order of binding.
    func bindings(for event: String) -> [Binding] {
        tables.withLock { tables in
            guard let named = tables.named[event] else { return tables.global }
            return tables.global.isEmpty ? named : tables.global + named
        }
    }

    func wants(_ event: String) -> Bool {
        tables.withLock { !$0.global.isEmpty || $0.named[event] != nil }
    }
}

/// One registered handler.
final class Binding: Sendable {
    let token: BindingToken
    private let handler: Handler
    private let isBound = Atomic<Bool>(true)

    init(_ handler: Handler, _ token: BindingToken) {
        self.handler = handler
        self.token = token
    }

    /// After this returned on the thread that delivers, the handler is not called any more.
    func cut() {
        isBound.store(false, ordering: .releasing)
    }

    /// The handler, while it is bound.
    var live: Handler? {
        isBound.load(ordering: .acquiring) ? handler : nil
    }

    /// Gives a value that was made on this side to a handler of values.
    func call(_ event: String, _ value: Any?) {
        switch live {
        case .value(let handler): handler(value)
        case .namedValue(let handler): handler(event, value)
        case .data, .namedData, nil: break
        }
    }
}

/// What a handler wants to be given.
enum Handler: Sendable {
    case value(@Sendable (Any?) -> Void)
    case namedValue(@Sendable (String, Any?) -> Void)
    case data(@Sendable (EventData) -> Void)
    case namedData(@Sendable (String, EventData) -> Void)
}

extension [Binding] {
    fileprivate mutating func removeBindings(_ token: BindingToken?) -> [Binding] {
        guard let token else {
            defer { self = [] }
            return self
        }
        guard let index = firstIndex(where: { $0.token == token }) else { return [] }
        return [remove(at: index)]
    }
}

extension Handler {
    /// A handler of values of one type; what does not decode is an error of the client, not of the handler.
    static func decoding<Value: Decodable & SendableMetatype>(
        _ type: Value.Type, _ decoder: JSONDecoder, of event: String, on channel: String, _ engine: Engine?,
        _ handler: @escaping @Sendable (Value) -> Void
    ) -> Handler {
        .data { [weak engine] data in
            do {
                handler(try data.decode(as: type, using: decoder))
            } catch {
                engine?.report(
                    RealtimeError(message: "\(event) on \(channel) does not decode as \(type): \(error)"))
            }
        }
    }
}
