public import Foundation
import RealtimeCore

/// One channel of a client: a place to bind handlers to. Made by ``BirdRealtime/subscribe(_:)``.
///
/// Every method may be called from any thread, also inside handlers. Handlers run on the client's delivery queue,
/// one after the other, those of ``bindGlobal(_:)`` before those of the event's name.
///
/// After `unsubscribe` of its name, or when its client is gone, a channel is dead: it delivers nothing, takes no
/// handlers any more, and ``trigger(_:data:)`` returns false.
public class Channel: @unchecked Sendable {
    // Sendable is sound: every stored property, here and in the subclasses, is a constant of a Sendable type. The
    // compiler does not check it because the class has subclasses, all of them in this module.

    /// The name this channel was subscribed by.
    public let name: String

    let id: ChannelID
    let handlers = HandlerTable()
    let streams = StreamHub<ChannelEvent>()
    weak let engine: Engine?

    init(name: String, id: ChannelID, engine: Engine) {
        self.name = name
        self.id = id
        self.engine = engine
    }

    /// Whether the service has accepted the subscription on the connection of this moment.
    public var subscribed: Bool { engine?.isSubscribed(id) ?? false }

    // MARK: Binding

    /// Calls `handler` with the decoded data of each event of this name: the values of `JSONSerialization`, a string
    /// that holds no JSON as that string, nil when there is no data. Bound twice, it runs twice.
    @discardableResult
    public func bind(_ event: String, _ handler: @escaping @Sendable (Any?) -> Void) -> BindingToken {
        handlers.bind(event, .value(handler))
    }

    /// Calls `handler` with the name and the decoded data of every event of this channel, before handlers of the name.
    @discardableResult
    public func bindGlobal(_ handler: @escaping @Sendable (String, Any?) -> Void) -> BindingToken {
        handlers.bindGlobal(.namedValue(handler))
    }

    /// Calls `handler` with the data of each event of this name decoded as a `type`. Data that does not fit is
    /// reported on `onError`, with channel and event, and the handler is not called.
    @discardableResult
    public func bind<Value: Decodable & SendableMetatype>(
        _ event: String, as type: Value.Type, decoder: JSONDecoder = JSONDecoder(),
        _ handler: @escaping @Sendable (Value) -> Void
    ) -> BindingToken {
        handlers.bind(event, .decoding(type, decoder, of: event, on: name, engine, handler))
    }

    /// Calls `handler` with the undecoded data of each event of this name.
    @discardableResult
    public func bindData(_ event: String, _ handler: @escaping @Sendable (EventData) -> Void) -> BindingToken
    {
        handlers.bind(event, .data(handler))
    }

    /// Calls `handler` with the name and the undecoded data of every event of this channel.
    @discardableResult
    public func bindGlobalData(
        _ handler: @escaping @Sendable (String, EventData) -> Void
    ) -> BindingToken {
        handlers.bindGlobal(.namedData(handler))
    }

    /// Removes the handler with this token from the event, or every handler of the event when no token is given. A
    /// token of another event removes nothing. On the delivery queue, a removed handler is not called any more once
    /// this has returned.
    public func unbind(_ event: String, _ token: BindingToken? = nil) {
        handlers.unbind(event, token)
    }

    /// Removes the global handler with this token, or every global handler when no token is given.
    public func unbindGlobal(_ token: BindingToken? = nil) {
        handlers.unbindGlobal(token)
    }

    /// Removes every handler but the global ones.
    public func unbindAll() {
        handlers.unbindAll(includingGlobal: false)
    }

    // MARK: Sending

    /// Sends a client event to the other subscribers of a private or presence channel.
    ///
    /// - Parameters:
    ///   - event: A name that begins with `client-`.
    ///   - data: Any JSON value as `JSONSerialization` takes it; nil sends `null`.
    /// - Returns: false, and nothing is sent, while the channel is not subscribed.
    /// - Throws: ``RealtimeError`` when the name has another beginning, the channel is public or encrypted, or the
    ///   data has no JSON form; checked in this order, before anything else.
    @discardableResult
    public func trigger(_ event: String, data: Any? = nil) throws -> Bool {
        try trigger(event, json: JSONText.bytes(of: data))
    }

    /// Sends a client event whose data is the JSON of `data`. See ``trigger(_:data:)``.
    @discardableResult
    public func trigger(
        _ event: String, encoding data: some Encodable, encoder: JSONEncoder = JSONEncoder()
    ) throws -> Bool {
        try trigger(event, json: (try? encoder.encode(data)).map(Array.init))
    }

    private func trigger(_ event: String, json: [UInt8]?) throws -> Bool {
        do {
            guard let engine else {
                try ClientEventError.check(event: event, channelName: name, data: json)
                return false
            }
            return try engine.trigger(event, on: id, named: name, data: json)
        } catch {
            throw RealtimeError(message: error.message)
        }
    }

    // MARK: Streams

    /// The events of this channel from now on, as a sequence for one reader.
    ///
    /// Events are put into the sequence as they are read from the socket, without a hop to the delivery queue. The
    /// sequence ends with the channel or its client, and keeps neither alive.
    ///
    /// - Parameters:
    ///   - bufferingUpTo: Events that wait for the reader. Beyond it the newest are dropped, and counted in
    ///     ``RealtimeSequence/droppedCount``.
    ///   - includingLifecycle: Whether the library's own events (`bird:subscription_succeeded`,
    ///     `bird:connection_count`, …) are among them. Default: application events only.
    public func events(
        bufferingUpTo limit: Int = 1024, includingLifecycle: Bool = false
    ) -> RealtimeSequence<ChannelEvent> {
        streams.open(.bufferingOldest(max(1, limit))) { event in
            includingLifecycle || !event.isLifecycle
        }
    }

    /// What the machine says about this channel's members; only presence channels care.
    func update(_ change: RosterChange) {}

    /// Nothing reaches this object any more.
    func die() {
        handlers.kill()
        streams.finish()
    }
}
