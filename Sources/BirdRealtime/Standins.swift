// Until WebSocketClient is merged.
extension EngineParts {
    static func connector(_ endpoint: Endpoint?, _ options: BirdRealtimeOptions) -> any SocketConnector {
        NoConnector()
    }
}
struct NoConnector: SocketConnector {
    struct Nothing: RealtimeSocket {
        func send(_ text: [UInt8]) {}
        func close(code: Int, reason: String, waitForPeer: Bool) {}
    }
    func open(_ link: SocketLink) -> any RealtimeSocket { Nothing() }
}
