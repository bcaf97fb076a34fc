// Until the lower modules are merged.
public struct TLSOptions: Sendable {
    public enum Trust: Sendable { case system, file(String), directory(String), pem(String) }
    public var trust = Trust.system
    public init() {}
}
public struct DeflateOptions: Sendable { public init() {} }
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
