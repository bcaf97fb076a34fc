actor EdgeServer {
    struct Listening: Sendable {
        var port: UInt16
        var authPort: UInt16
        var certificateAuthorityPEM: String?
    }
    init(_ configuration: LoopbackEdge.Configuration, book: LogBook, script: FaultScript) {}
    func start(
        port: UInt16, authPort: UInt16
    ) throws -> Listening {
        Listening(port: 0, authPort: 0)
    }
    func stop() {}
    func publish(channel: String, event: String, data: String, except: String?) -> Int { 0 }
    func publish(toMember: String, event: String, data: String) -> Int { 0 }
    func connections() -> [LoopbackEdge.ConnectionInfo] { [] }
    func inject(_ fault: LoopbackEdge.Fault, into: LoopbackEdge.Target) -> Int { 0 }
    func releaseHandshakes() {}
    func releaseAuth() -> Int { 0 }
}
