internal import Synchronization

/// A realtime edge on loopback sockets, in the process that tests or shows a client.
///
/// It speaks the whole dialect of the service over `ws` (or `wss`), checks what clients send as strictly as the
/// service does, has an auth backend over HTTP that signs for its own application, and does harm by script. It is
/// for tests and demonstrations: whoever reaches its ports may publish.
///
/// ```swift
/// let edge = LoopbackEdge()
/// try await edge.start()
/// let client = BirdRealtime(options: edge.options())
/// client.subscribe("private-orders").bind("created") { data in … }
/// try await edge.waitFor { $0.sent("bird_internal:subscription_succeeded").count == 1 }
/// await edge.publish(channel: "private-orders", event: "created", data: #"{"id":7}"#)
/// await edge.stop()
/// ```
///
/// All members may be called from any thread and task. The edge runs on a thread of its own, so a blocked client
/// does not stop it. A client that breaks a rule gets a `bird:error` without a channel, the connection goes on, and
/// the log has a ``Entry/violation(connection:code:message:)``; see ``ErrorCode`` for the codes.
public final class LoopbackEdge: Sendable {
    /// What the edge was made with.
    public let configuration: Configuration

    let book: LogBook
    let script = FaultScript()
    private let running = Mutex(Running())
    private let server: EdgeServer

    private struct Running {
        var port: UInt16 = 0
        var authPort: UInt16 = 0
        var certificateAuthorityPEM: String?
    }

    /// An edge that does not listen yet.
    public init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
        book = LogBook(limit: configuration.maxLogEntries)
        server = EdgeServer(configuration, book: book, script: script)
    }

    // MARK: Where it is

    /// The application key that clients are to use.
    public var appKey: String { configuration.appKey }

    /// The address it listens on, without port.
    public var host: String { configuration.host }

    /// The port of the WebSockets; 0 before ``start()``.
    public var port: UInt16 { running.withLock { $0.port } }

    /// The port of the auth backend; 0 before ``start()``.
    public var authPort: UInt16 { running.withLock { $0.authPort } }

    /// Host and port of the WebSockets, as a URL has them.
    public var wsHost: String { "\(bracketedHost):\(port)" }

    /// The URL that a client of this application opens.
    public var url: String {
        "\(configuration.isSecure ? "wss" : "ws")://\(wsHost)/app/\(appKey)?protocol=7"
    }

    /// The URL that signs subscriptions.
    public var authEndpoint: String { backend("/bird/auth") }

    /// The URL that signs sign-ins.
    public var memberAuthEndpoint: String { backend("/bird/auth/member") }

    /// The URL that takes `{"channel" or "member", "event", "data"}` by POST and publishes it.
    public var publishEndpoint: String { backend("/publish") }

    /// The certificate of the authority that a client of a secure edge has to trust; nil otherwise.
    public var certificateAuthorityPEM: String? { running.withLock { $0.certificateAuthorityPEM } }

    private var bracketedHost: String { host.contains(":") ? "[\(host)]" : host }

    private func backend(_ path: String) -> String {
        "\(configuration.isSecure ? "https" : "http")://\(bracketedHost):\(authPort)\(path)"
    }

    // MARK: Life

    /// Listens on both ports. After ``stop()`` it may start again, on the ports it had.
    ///
    /// Throws when a port is taken, the host is no loopback address, or the edge is running already.
    public func start() async throws {
        let ports = running.withLock {
            (
                $0.port == 0 ? configuration.port : $0.port,
                $0.authPort == 0 ? configuration.authPort : $0.authPort
            )
        }
        let listening = try await server.start(port: ports.0, authPort: ports.1)
        running.withLock {
            $0.port = listening.port
            $0.authPort = listening.authPort
            $0.certificateAuthorityPEM = listening.certificateAuthorityPEM
        }
        book.reopen()
    }

    /// Drops every connection, frees the ports and ends every wait with ``WaitError/stopped``. Held auth answers are
    /// not given. Does nothing when the edge is not running.
    public func stop() async {
        await server.stop()
        book.close()
    }

    // MARK: What clients get

    /// Sends an event to the subscribers of a channel and returns how many connections that were.
    ///
    /// `data` is a JSON text. A text that is not JSON is sent as a JSON string. The frames are on their way when this
    /// returns. `exceptConnectionID` leaves one connection out.
    @discardableResult
    public func publish(
        channel: String, event: String, data: String = "{}", exceptConnectionID: String? = nil
    ) async -> Int {
        await server.publish(channel: channel, event: event, data: data, except: exceptConnectionID)
    }

    /// Sends an event to the connections that are signed in as a member and returns how many those were.
    @discardableResult
    public func publish(toMember member: String, event: String, data: String = "{}") async -> Int {
        await server.publish(toMember: member, event: event, data: data)
    }

    /// The open connections that have their connection id, in the order in which they were accepted.
    public func connections() async -> [ConnectionInfo] {
        await server.connections()
    }

    // MARK: Faults

    /// Plans the k-th connection that the edge accepts, counting from 1; see ``Log/acceptedConnections``.
    public func plan(_ plan: ConnectionPlan, forConnection number: Int) {
        script.set(plan, forConnection: number)
    }

    /// Plans the next connections that have no plan of their own; calls add up, the first one comes first.
    public func planNext(_ plan: ConnectionPlan, count: Int = 1) {
        script.append(plan, count)
    }

    /// Plans every connection that has no other plan; nil takes the plan away.
    public func planAll(_ plan: ConnectionPlan?) {
        script.setDefault(plan)
    }

    /// Refuses the next connections.
    public func refuseNext(_ count: Int = 1, with refusal: Refusal) {
        planNext(.refuse(refusal), count: count)
    }

    /// Does something to open connections, now, and returns to how many.
    @discardableResult
    public func inject(_ fault: Fault, into target: Target = .all) async -> Int {
        await server.inject(fault, into: target)
    }

    /// Sends the handshake events that ``HandshakeEvent/held`` holds, and returns how many those were.
    @discardableResult
    public func releaseHandshakes() async -> Int {
        await server.releaseHandshakes()
    }

    /// Lets the auth backend down for the next requests; of one channel where given (`nil` means any request).
    public func failAuth(_ count: Int = 1, with fault: AuthFault, channel: String? = nil) {
        script.append(fault, count, channel: channel)
    }

    /// Gives the answers that ``AuthFault/held`` holds, and returns how many those were.
    @discardableResult
    public func releaseAuth() async -> Int {
        await server.releaseAuth()
    }

    // MARK: Log

    /// What happened so far.
    public var log: Log { book.log }

    /// Waits until the log satisfies a condition, which is asked again whenever something was logged.
    ///
    /// Throws ``WaitError/timedOut(_:)`` after `timeout`, ``WaitError/stopped`` when the edge stops, and
    /// `CancellationError`. The condition runs in the caller's task.
    public func waitFor(
        timeout: Duration = .seconds(60), _ condition: @Sendable (Log) throws -> Bool
    ) async throws {
        let _: Void = try await waitForValue(timeout: timeout) { try condition($0) ? () : nil }
    }

    /// Waits until a function finds something in the log and returns it; ends like ``waitFor(timeout:_:)``.
    public func waitForValue<Result: Sendable>(
        timeout: Duration = .seconds(60), _ search: @Sendable (Log) throws -> Result?
    ) async throws -> Result {
        try await withLimit(timeout, otherwise: { [book] in WaitError.timedOut(book.log) }) { [book] in
            try await book.first(search)
        }
    }

    /// Why an edge does not start.
    public enum StartError: Error, Sendable, Hashable {
        /// It is running.
        case alreadyRunning
        /// ``Configuration/host`` is neither `127.0.0.1` nor `::1`.
        case notLoopback(String)
        /// A port could not be taken; the reason names it.
        case cannotListen(String)
    }

    /// Why a wait ended without what it waited for.
    public enum WaitError: Error, Sendable {
        /// It took too long; the log at that moment.
        case timedOut(Log)
        /// The edge was stopped.
        case stopped
    }

    /// An open connection.
    public struct ConnectionInfo: Sendable, Hashable {
        /// The how many-th accepted connection it is, from 1.
        public var number: Int
        /// Its connection id.
        public var connectionID: String
        /// The channels it is subscribed to, sorted.
        public var channels: [String]
        /// The id of the member that signed in on it.
        public var memberID: String?
    }
}
