import Dispatch
import RealtimeCore
import Testing

@testable import BirdRealtime

@Suite(.timeLimit(.minutes(2))) struct ClientStateTests {
    func states(of bench: Bench) -> Heard<String> {
        let heard = Heard<String>()
        bench.bird.onConnectionStateChange { heard.append("\($0.rawValue)>\($1.rawValue)") }
        return heard
    }

    @Test("A client connects by itself, and its getters follow at once")
    func connects() {
        let bench = Bench()
        #expect(bench.bird.connectionState == .connecting)
        #expect(bench.sockets.sockets.count == 1)
        let heard = states(of: bench)
        bench.sockets.last.establishes("7.7")
        #expect(bench.bird.connectionState == .connected)
        #expect(bench.bird.connectionId == "7.7")
        bench.bird.disconnect()
        #expect(bench.bird.connectionState == .disconnected)
        #expect(bench.bird.connectionId == nil)
        #expect(bench.sockets.last.closing == .init(code: 1000, waitForPeer: true))
        bench.settle()
        #expect(heard.all == ["connecting>connected", "connected>disconnected"])
    }

    @Test("autoConnect false waits for connect()")
    func waits() {
        let bench = Bench(autoConnect: false)
        #expect(bench.bird.connectionState == .initialized)
        #expect(bench.sockets.sockets.isEmpty)
        bench.bird.connect()
        #expect(bench.bird.connectionState == .connecting)
    }

    @Test("I8: connect() inside the handler of disconnected, disconnect() inside that of connected")
    func insideHandlers() {
        let bench = Bench()
        let heard = states(of: bench)
        let bird = bench.bird
        let rounds = Heard<Int>()
        bird.onConnectionStateChange { [weak bird] _, current in
            guard let bird else { return }
            switch current {
            case .connected:
                heard.append("read \(bird.connectionState.rawValue)")
                bird.disconnect()
                heard.append("then \(bird.connectionState.rawValue)")
            case .disconnected where rounds.count == 0:
                rounds.append(1)
                heard.append("read \(bird.connectionState.rawValue)")
                bird.connect()
                heard.append("then \(bird.connectionState.rawValue)")
            default: break
            }
        }
        bench.sockets.last.establishes()
        bench.settle()
        bench.settle()
        #expect(
            heard.all == [
                "connecting>connected", "read connected", "then disconnected", "connected>disconnected",
                "read disconnected", "then connecting", "disconnected>connecting",
            ])
        #expect(bench.sockets.sockets.count == 2)
    }

    @Test("I1: no timer is left after disconnect(), and nothing opens in ten minutes")
    func noTimerLeft() {
        let bench = Bench()
        let socket = bench.connected()
        bench.clock.advance(by: .seconds(121))
        #expect(socket.sent.contains { $0.contains("bird:ping") })
        bench.bird.disconnect()
        #expect(bench.clock.timerCount == 0)
        bench.clock.advance(by: .seconds(600))
        #expect(bench.bird.connectionState == .disconnected)
        #expect(bench.sockets.sockets.count == 1)
    }

    @Test("A drop leads to unavailable, the wait is told, and connect() ends it with one socket")
    func retry() {
        let bench = Bench()
        let heard = states(of: bench)
        let waits = Heard<Double>()
        bench.bird.onConnectingIn { waits.append($0) }
        bench.connected().ends(1011)
        #expect(bench.bird.connectionState == .unavailable)
        for _ in 0..<5 { bench.bird.connect() }
        #expect(bench.sockets.sockets.count == 2)
        bench.settle()
        #expect(heard.all == ["connecting>connected", "connected>unavailable", "unavailable>connecting"])
        #expect(waits.count == 1)
        #expect(bench.bird.lastDisconnect?.code == 1011)
        #expect(bench.bird.lastDisconnect?.kind == .closeFrame)
    }

    @Test("What an old socket says is not heard on a new one")
    func oldSocket() {
        let bench = Bench()
        let old = bench.connected("1.1")
        let channel = bench.bird.subscribe("c")
        let heard = Heard<String>()
        channel.bind("e", heard.handler)
        old.ends(1011)
        bench.connected("2.2")
        old.accepts("c")
        old.publishes("e", on: "c", "1")
        old.ends(4000)
        bench.settle()
        #expect(bench.bird.connectionState == .connected)
        #expect(bench.bird.connectionId == "2.2")
        #expect(!channel.subscribed)
        #expect(heard.count == 0)
    }

    @Test("A terminal code leads to failed, told once, and to an observer that comes late")
    func failed() {
        let bench = Bench()
        let early = Heard<String>()
        bench.bird.onError { early.append("\($0.code ?? 0)") }
        bench.connected().ends(4004)
        #expect(bench.bird.connectionState == .failed)
        let late = Heard<String>()
        bench.bird.onError { late.append("\($0.code ?? 0)") }
        bench.settle()
        #expect(early.all == ["4004"])
        #expect(late.all == ["4004"])
        bench.bird.disconnect()
        #expect(bench.bird.connectionState == .disconnected)
    }

    @Test("Unusable options lead to failed and an error that names them")
    func unusable() {
        let bench = Bench(BirdRealtimeOptions(appKey: "", region: "us1"))
        #expect(bench.bird.connectionState == .failed)
        #expect(bench.sockets.sockets.isEmpty)
        let heard = Heard<String>()
        bench.bird.onError { heard.append($0.message) }
        bench.settle()
        #expect(heard.count == 1)
        #expect(heard.all.first?.contains("appKey") == true)
    }

    @Test("An observer that registers while failed hears of it once, also when connect() fails again at once")
    func lateOnce() {
        let bench = Bench(BirdRealtimeOptions(appKey: "", region: "us1"))
        let heard = Heard<String>()
        bench.queue.sync {
            bench.bird.onError { heard.append($0.message) }
            bench.bird.connect()
        }
        bench.settle()
        #expect(heard.count == 1)
    }

    @Test("Removed observers are not called")
    func removed() {
        let bench = Bench()
        let heard = Heard<String>()
        let tokens = [
            bench.bird.onConnectionStateChange { heard.append("\($0)\($1)") },
            bench.bird.onError { heard.append($0.message) },
            bench.bird.onSigninError { heard.append("\($0)") },
            bench.bird.onConnectingIn { heard.append("\($0)") },
        ]
        bench.queue.sync {
            bench.connected().ends(4000)
            for token in tokens { bench.bird.remove(token) }
        }
        bench.settle()
        #expect(heard.count == 0)
    }

    @Test("The states can be read as a sequence that ends with the client")
    func stateSequence() async {
        let changes: RealtimeSequence<StateChange>
        do {
            let bench = Bench()
            changes = bench.bird.states()
            bench.connected()
            bench.bird.disconnect()
        }
        var read: [ConnectionState] = []
        for await change in changes { read.append(change.current) }
        #expect(read == [.connected, .disconnected])
    }

    @Test("disconnectAndWait returns when the socket is gone")
    func waitsForTheClose() async {
        let bench = Bench()
        let socket = bench.connected()
        async let done: Void = bench.bird.disconnectAndWait()
        await until { socket.closing != nil }
        socket.link.gone()
        await done
        #expect(bench.bird.connectionState == .disconnected)
        // Nothing is open: it returns at once.
        await bench.bird.disconnectAndWait()
    }

    @Test("The log tells of transitions and ignored messages, without secrets")
    func log() {
        let heard = Heard<String>()
        var options = BirdRealtimeOptions(appKey: "key", region: "us1")
        options.log = { heard.append("\($0.level) \($0.message)") }
        let bench = Bench(options)
        bench.connected().says("no json")
        #expect(heard.all.contains("info connecting -> connected"))
        #expect(heard.all.contains { $0.hasPrefix("debug a message was ignored") })
        #expect(bench.bird.ignoredMessageCount == 1)
    }
}
