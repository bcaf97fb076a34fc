internal import RealtimeCore

/// The service's side of the dialect: who is connected, subscribed and signed in, and what they are told.
///
/// No socket and no clock: each input returns what to send and to close, in order. A broken rule is answered with a
/// `bird:error` without a channel and changes nothing else.
struct EdgeMachine {
    struct Options: Sendable {
        var signature: EdgeSignature
        var activityTimeout: Int? = 120
        var encodesDataAsString = true
        var sendsConnectionCount = true
    }

    enum Action: Equatable {
        case send(String, to: Int)
        case close(UInt16, reason: String, connection: Int)
        /// For the log; the `bird:error` that says so follows.
        case violation(code: Int, message: String, connection: Int)
    }

    struct Client {
        var connectionID: String
        var channels: Set<String> = []
        var identity: Identity?
    }

    /// A signed-in member.
    struct Identity: Equatable {
        var id: String
        var watchlist: [String]
    }

    /// A rule that a client broke.
    struct Violation: Error {
        var code: Int
        var message: String

        init(_ code: Int, _ message: String) {
            self.code = code
            self.message = message
        }
    }

    let options: Options
    let frame: EdgeFrame
    var clients: [Int: Client] = [:]
    var channels: [String: EdgeChannel] = [:]
    /// The connections of each signed-in member.
    var signedIn: [String: Set<Int>] = [:]
    var actions: [Action] = []

    init(_ options: Options) {
        self.options = options
        frame = EdgeFrame(encodesDataAsString: options.encodesDataAsString)
    }

    // MARK: Inputs

    /// A WebSocket opened with this request target. The handshake event is the caller's to send.
    mutating func opened(_ connection: Int, target: AppTarget) -> [Action] {
        perform { machine in
            do throws(Violation) {
                try machine.check(target)
                machine.clients[connection] = Client(connectionID: Self.connectionID(connection))
            } catch {
                machine.refuse(connection, error)
                machine.actions.append(
                    .close(UInt16(error.code), reason: error.message, connection: connection))
            }
        }
    }

    private func check(_ target: AppTarget) throws(Violation) {
        guard target.appKey == options.signature.appKey else {
            throw Violation(LoopbackEdge.ErrorCode.unknownApplication, "no application has this key")
        }
        guard target.protocolVersion == "7" else {
            throw Violation(LoopbackEdge.ErrorCode.unsupportedProtocol, "the protocol version is not 7")
        }
    }

    /// The handshake event of an open connection.
    func handshake(_ connection: Int) -> String {
        frame.connectionEstablished(
            connectionID: clients[connection]?.connectionID ?? "",
            activityTimeout: options.activityTimeout)
    }

    mutating func received(_ text: [UInt8], from connection: Int) -> [Action] {
        perform { machine in
            // Between the refusal of an unknown application and the end of its socket, nothing counts.
            guard machine.clients[connection] != nil else { return }
            do throws(Violation) {
                try machine.handle(text, from: connection)
            } catch {
                machine.refuse(connection, error)
            }
        }
    }

    mutating func receivedBinary(from connection: Int) -> [Action] {
        perform { machine in
            guard machine.clients[connection] != nil else { return }
            let message = "a binary message; the dialect is text"
            machine.refuse(connection, Violation(LoopbackEdge.ErrorCode.malformedMessage, message))
        }
    }

    /// The connection is gone, whatever the reason.
    mutating func closed(_ connection: Int) -> [Action] {
        perform { machine in
            guard let client = machine.clients.removeValue(forKey: connection) else { return }
            for channel in client.channels.sorted() { machine.leave(channel, connection) }
            if let identity = client.identity { machine.goOffline(identity, connection) }
        }
    }

    /// Returns the actions and how many connections the event reaches.
    mutating func publish(channel: String, event: String, data: String, except: String? = nil)
        -> (actions: [Action], receivers: Int)
    {
        let text = frame.event(event, channel: channel, data: data)
        let receivers = (channels[channel]?.subscribers ?? []).filter {
            except == nil || clients[$0]?.connectionID != except
        }
        return (receivers.map { .send(text, to: $0) }, receivers.count)
    }

    static func connectionID(_ connection: Int) -> String { "\(connection).\(connection)" }

    /// The channel that carries the events of a signed-in member.
    static func memberChannel(_ member: String) -> String {
        ChannelFamily.memberChannelName(memberID: member)
    }

    // MARK: Messages

    private mutating func handle(_ text: [UInt8], from connection: Int) throws(Violation) {
        guard let envelope = JSONValue(parsing: text) else { throw .malformed("a message that is not JSON") }
        guard envelope.isObject else { throw .malformed("a message that is not a JSON object") }
        guard let event = envelope["event"]?.string else {
            throw .malformed("a message without a string `event`")
        }
        let data = envelope["data"]
        if let string = data?.string {
            let inner = JSONValue(parsing: Array(string.utf8))
            guard !event.hasPrefix("bird:"), inner?.isObject != true, inner?.elements == nil else {
                throw Violation(
                    LoopbackEdge.ErrorCode.stringifiedData,
                    "the data of \(event) is JSON inside a string; send the value itself")
            }
        }
        switch event {
        case "bird:ping": send(EdgeFrame.pong, to: connection)
        case "bird:pong": break
        case "bird:subscribe": try subscribe(data, connection)
        case "bird:unsubscribe": try unsubscribe(data, connection)
        case "bird:signin": try signin(data, connection)
        case _ where event.hasPrefix("client-"):
            try relay(event, channel: envelope["channel"]?.string, data: data, from: connection)
        default: throw .malformed("clients do not send the event \"\(event)\"")
        }
    }

    /// Runs an input and returns the actions that it left.
    mutating func perform(_ body: (inout EdgeMachine) -> Void) -> [Action] {
        body(&self)
        return exchange(&actions, with: [])
    }

    mutating func send(_ text: String, to connection: Int) {
        actions.append(.send(text, to: connection))
    }

    mutating func refuse(_ connection: Int, _ violation: Violation) {
        actions.append(
            .violation(code: violation.code, message: violation.message, connection: connection))
        send(EdgeFrame.error(code: violation.code, message: violation.message), to: connection)
    }
}

extension EdgeMachine.Violation {
    static func malformed(_ message: String) -> Self {
        Self(LoopbackEdge.ErrorCode.malformedMessage, message)
    }

    static func unauthorized(_ message: String) -> Self {
        Self(LoopbackEdge.ErrorCode.unauthorized, message)
    }

    static func clientEvent(_ message: String) -> Self {
        Self(LoopbackEdge.ErrorCode.clientEventRejected, message)
    }

    static func alreadyDone(_ message: String) -> Self {
        Self(LoopbackEdge.ErrorCode.alreadyDone, message)
    }
}
