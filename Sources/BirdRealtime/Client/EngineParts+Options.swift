import Dispatch
import RealtimeCore
import SystemIO

extension EngineParts {
    /// What a client with these options is made of.
    init(_ options: BirdRealtimeOptions, deliveryQueue: DispatchQueue) {
        let checked: Result<Endpoint, RealtimeError>
        do {
            checked = .success(try options.checkedEndpoint())
        } catch {
            checked = .failure(error)
        }
        let endpoint = try? checked.get()
        configuration = RealtimeConfiguration(
            host: endpoint?.authority ?? options.wsHost ?? "",
            seed: options.randomSeed ?? UInt64.random(in: .min ... .max))
        configuration.activityTimeout = EngineParts.duration(options.activityTimeout)
        configuration.pongTimeout = EngineParts.duration(options.pongTimeout)
        configuration.connectTimeout = EngineParts.duration(options.connectTimeout)
        configuration.reconnect = options.reconnectPolicy
        if case .failure(let error) = checked {
            configuration.unusable = ErrorReport(message: error.message)
        }
        clock = options.clock ?? SystemClock.shared
        connector = WebSocketConnector(endpoint, options)
        authorizers = Authorizers(options, transport: EndpointTransport(options))
        let executor: DeliveryExecutor =
            options.delivery.isInline ? .inline(.shared) : .queue(deliveryQueue)
        delivery = Delivery(executor: executor, maxByteCount: options.maxPendingDeliveryBytes)
        member = MemberEvents()
        log = options.log
    }

    /// Unusable numbers never reach a timer: the client is `failed` then.
    private static func duration(_ seconds: Double) -> Duration {
        Duration(finiteSeconds: seconds) ?? .zero
    }
}
