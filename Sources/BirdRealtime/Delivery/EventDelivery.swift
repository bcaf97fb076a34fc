/// One event on its way to the handlers of a channel.
struct EventDelivery: Sendable {
    /// What came with the event.
    enum Payload: Sendable {
        /// Decoded once, and only when a handler wants the value.
        case wire(EventData)
        /// Made on this side; `data` is what handlers of raw data are given.
        case local(LocalValue, data: EventData)
    }

    /// A value that was made for handlers and is never changed.
    struct LocalValue: @unchecked Sendable {
        // Sendable is sound: it holds decoded JSON and the value types of this library, all immutable.
        let value: Any?
    }

    let handlers: HandlerTable
    let name: String
    let payload: Payload
    /// Whether the event is still wanted when its turn comes.
    let lease: DeliveryLease

    /// Whether it must arrive, however much waits: there is one for each subscription.
    private var isEssential: Bool {
        name == BirdProtocol.Event.subscriptionSucceeded || name == BirdProtocol.Event.subscriptionError
    }

    var byteCount: Int {
        switch payload {
        // The name and the bookkeeping count too: empty events must not pile up without a bound.
        case .wire(let data): data.rawBytes.count + name.utf8.count + DeliveryItem.baseCost
        case .local(_, let data):
            isEssential ? 0 : data.rawBytes.count + name.utf8.count + DeliveryItem.baseCost
        }
    }

    func deliver() {
        var value = DecodedOnce(payload)
        for binding in handlers.bindings(for: name) {
            guard lease.isValid else { return }
            switch binding.live {
            case nil: continue
            case .value(let handler): handler(value.decoded())
            case .namedValue(let handler): handler(name, value.decoded())
            case .data(let handler): handler(value.data)
            case .namedData(let handler): handler(name, value.data)
            }
        }
    }
}

private struct DecodedOnce {
    private let payload: EventDelivery.Payload
    private var value: Any??

    init(_ payload: EventDelivery.Payload) {
        self.payload = payload
    }

    var data: EventData {
        switch payload {
        case .wire(let data), .local(_, let data): data
        }
    }

    mutating func decoded() -> Any? {
        if let value { return value }
        let decoded: Any? =
            switch payload {
            case .wire(let data): data.value
            case .local(let local, _): local.value
            }
        value = .some(decoded)
        return decoded
    }
}
