import Testing

@testable import RealtimeCore

@Suite("§5 The six states") struct ConnectionTests {
    @Test("connect opens one socket, the handshake makes it connected")
    func connects() {
        var client = Client()
        let socket = SocketTag(rawValue: 1)
        #expect(
            client.connect() == [.stateChanged(from: .initialized, to: .connecting), .openSocket(socket)])
        #expect(client.establish(1) == [.stateChanged(from: .connecting, to: .connected)])
        #expect(client.machine.connectionID == "1.1")
    }

    @Test(
        "a handshake without a usable id: error, close 4001, failed at once",
        arguments: [
            "{}", #"{"connection_id":""}"#, #"{"connection_id":7}"#, "null", #""x""#,
        ])
    func handshakeWithoutID(data: String) {
        var client = Client()
        client.connect()
        let actions = client.receive(#"{"event":"bird:connection_established","data":\#(data)}"#)
        #expect(actions.count == 3)
        #expect(actions.errors.map(\.code) == [nil])
        #expect(actions.errors.first?.message.contains("connection_id") == true)
        #expect(
            actions.contains(
                .closeSocket(
                    SocketTag(rawValue: 1), code: 4001, reason: "no connection_id", waitForPeer: true)))
        #expect(actions.phases == [.failed])
        #expect(client.machine.nextDeadline == nil)
    }

    @Test("a second handshake on one socket means nothing")
    func secondHandshake() {
        var client = Client.connected()
        #expect(client.establish(2) == [])
        #expect(client.machine.connectionID == "1.1")
    }

    @Test("frames before the handshake are not delivered, pings are answered")
    func early() {
        var client = Client()
        client.subscribe("c")
        client.connect()
        #expect(client.receive(#"{"event":"x","channel":"c","data":1}"#) == [])
        #expect(client.event == nil)
        #expect(client.ok("c") == [])
        #expect(client.receive(#"{"event":"bird:ping"}"#).frames.count == 1)
    }

    @Test("I3 connect() five times while connecting and while waiting opens exactly one socket")
    func connectIsIdempotent() {
        var client = Client()
        #expect((0..<5).map { _ in client.connect().openedSockets } == [1, 0, 0, 0, 0])
        client.establish(1)
        #expect(client.connect() == [])
        client.end(code: 1011)
        #expect(client.machine.phase == .unavailable)
        #expect((0..<5).map { _ in client.connect().openedSockets } == [1, 0, 0, 0, 0])
        client.establish(2)
        #expect(client.wait(.seconds(60)).openedSockets == 0)
    }

    @Test("I3 error, close and end of one socket are one failure")
    func oneFailure() {
        var client = Client.connected()
        let socket = client.socket
        client.serverError(4301)
        #expect(client.end(code: 1011).phases == [.unavailable])
        let now = client.now
        #expect(client.perform { $0.socketEnded(socket, SocketEnd(.endOfStream), at: now, into: &$1) } == [])
        #expect(client.receive(#"{"event":"x"}"#, on: socket) == [])
        #expect(client.wait(.seconds(1)).openedSockets == 1)
    }

    @Test("I1 disconnect() right after a ping leaves nothing scheduled")
    func disconnectAfterPing() {
        var client = Client.connected()
        client.wait(.seconds(121))
        #expect(client.sent.last == #"{"event":"bird:ping","data":{}}"#)
        #expect(client.disconnect().phases == [.disconnected])
        #expect(client.machine.nextDeadline == nil)
        #expect(client.wait(.seconds(600)) == [])
        #expect(client.disconnect() == [])
    }

    @Test("disconnect() works from every state")
    func disconnectFromAnywhere() {
        var initialized = Client()
        #expect(initialized.disconnect().phases == [.disconnected])
        var connecting = Client()
        connecting.connect()
        #expect(connecting.disconnect().phases == [.disconnected])
        var waiting = Client.connected()
        waiting.end()
        #expect(waiting.disconnect().phases == [.disconnected])
        var failed = Client.connected()
        failed.end(code: 4001)
        #expect(failed.disconnect().phases == [.disconnected])
        #expect(failed.connect().phases == [.connecting])
    }

    @Test("I8 disconnect() and connect() in turn: each transition once, the old socket is deaf")
    func turns() {
        var client = Client.connected()
        let old = client.socket
        #expect(client.disconnect().phases == [.disconnected])
        #expect(client.connect().phases == [.connecting])
        #expect(
            client.receive(#"{"event":"bird:connection_established","data":{"connection_id":"9"}}"#, on: old)
                == [])
        #expect(client.establish(2).phases == [.connected])
        #expect(client.machine.connectionID == "2.2")
    }

    @Test("E2 end without a close frame while connected: one transition, readable, then backoff")
    func endOfStream() {
        var client = Client.connected()
        #expect(client.end(.endOfStream).errors == [])
        #expect(client.machine.lastDisconnect == SocketEnd(.endOfStream))
        #expect(client.machine.phase == .unavailable)
    }

    @Test("E1 close without a code is no code, and backs off")
    func closeWithoutCode() {
        var client = Client.connected()
        client.end(.closeFrame, code: 1005)
        #expect(client.machine.lastDisconnect?.code == nil)
        #expect(client.machine.phase == .unavailable)
    }

    @Test("E6 bird:error and close with the same code: the error, then failed, no retry")
    func lastWords() {
        var client = Client.connected()
        var actions = client.serverError(4001, "gone")
        actions += client.end(code: 4001, "gone")
        #expect(actions.errors == [ErrorReport(code: 4001, message: "gone")])
        #expect(actions.first == .error(ErrorReport(code: 4001, message: "gone")))
        #expect(actions.phases == [.failed])
        #expect(client.wait(.seconds(600)) == [])
        #expect(client.machine.terminalError == ErrorReport(code: 4001, message: "gone"))
    }

    @Test("§6 connectTimeout covers everything up to the handshake event")
    func connectTimeout() {
        var client = Client()
        client.connect()
        client.machine.socketOpened(client.socket)
        #expect(client.wait(.milliseconds(29_999)) == [])
        let now = client.now + .milliseconds(1)
        let actions = client.perform { $0.advance(to: now, into: &$1) }
        #expect(actions.phases == [.unavailable])
        #expect(actions.errors.count == 1)
        #expect(
            actions.first
                == .closeSocket(
                    SocketTag(rawValue: 1), code: 1000, reason: "connect timeout", waitForPeer: false))
    }

    @Test("§9 unusable options lead to failed with the error")
    func unusable() {
        let report = ErrorReport(message: "region or wsHost is needed")
        var client = Client { $0.unusable = report }
        #expect(client.connect() == [.error(report), .stateChanged(from: .initialized, to: .failed)])
        #expect(client.machine.terminalError == report)
        #expect(client.connect() == [.error(report)])
    }
}

@Suite("§7 The stale-connection check") struct ActivityTests {
    @Test("H1 ping after 120 s of silence, dead after 30 more, retry at once")
    func stale() {
        var client = Client.connected()
        #expect(client.wait(.milliseconds(119_999)) == [])
        #expect(client.wait(.milliseconds(1)).frames == [#"{"event":"bird:ping","data":{}}"#])
        #expect(client.wait(.milliseconds(29_999)) == [])
        #expect(
            client.wait(.milliseconds(1)) == [
                .closeSocket(
                    SocketTag(rawValue: 1), code: 4200, reason: "activity timeout", waitForPeer: false),
                .stateChanged(from: .connected, to: .unavailable), .connectingIn(.zero),
                .stateChanged(from: .unavailable, to: .connecting), .openSocket(SocketTag(rawValue: 2)),
            ])
        #expect(client.machine.lastDisconnect?.kind == .stale)
    }

    @Test("H1 what the app sends does not hide the silence")
    func sendingIsNoLife() {
        var client = Client.connected()
        for number in 0..<11 {
            client.wait(.seconds(10))
            client.subscribe("c\(number)")
        }
        #expect(client.wait(.seconds(10)).frames.contains(#"{"event":"bird:ping","data":{}}"#))
    }

    @Test(
        "the handshake's value rules, odd ones are ignored",
        arguments: [
            ("30", 30.0), ("0", 120), ("-5", 120), (#"\"30\""#, 120), ("0.25", 1), ("1.5", 1.5),
            ("1e400", 120),
            ("null", 120), (nil, 120),
        ] as [(String?, Double)])
    func handshakeValue(value: String?, seconds: Double) {
        var client = Client()
        client.connect()
        client.establish(1, activityTimeout: value)
        #expect(client.machine.nextDeadline == client.now + .seconds(seconds))
    }

    @Test("the handshake's value belongs to its connection")
    func handshakeValueGoes() {
        var client = Client { $0.activityTimeout = .milliseconds(500) }
        client.connect()
        client.establish(1, activityTimeout: "30")
        client.end(code: 4200)
        client.establish(2, activityTimeout: nil)
        #expect(client.machine.nextDeadline == client.now + .milliseconds(500))
    }

    @Test("H3 data flowing is proof of life")
    func dataIsLife() {
        var client = Client.connected()
        for _ in 0..<60 {
            #expect(client.wait(.seconds(10)) == [])
            client.receive(#"{"event":"x","channel":"c"}"#)
        }
        client.wait(.seconds(120))
        client.now = client.now + .seconds(1)
        client.receive("not even json")
        #expect(client.wait(.seconds(119)) == [])
        #expect(client.machine.phase == .connected)
    }

    @Test("a pong gives the round-trip time once; the server's ping is answered")
    func pong() {
        var client = Client.connected()
        client.wait(.seconds(120))
        client.now = client.now + .milliseconds(40)
        #expect(client.receive(#"{"event":"bird:pong","data":{}}"#) == [.pingRoundTrip(.milliseconds(40))])
        #expect(client.receive(#"{"event":"bird:pong","data":{}}"#) == [])
        #expect(client.machine.lastPingRoundTrip == .milliseconds(40))
        #expect(
            client.receive(#"{"event":"bird:ping","data":"{}"}"#).frames == [
                #"{"event":"bird:pong","data":{}}"#
            ])
    }

    @Test("a machine that slept finds out at once")
    func slept() {
        var client = Client.connected()
        client.wait(.seconds(121))
        let later = client.now + .seconds(36_000)
        client.now = later
        #expect(client.perform { $0.advance(to: later, into: &$1) }.phases == [.unavailable, .connecting])
    }
}
