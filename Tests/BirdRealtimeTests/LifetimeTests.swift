import Dispatch
import RealtimeCore
import Testing

@testable import BirdRealtime

@Suite(.timeLimit(.minutes(2))) struct LifetimeTests {
    /// Refers to a client without keeping it.
    final class Trace: Sendable {
        weak let bird: BirdRealtime?
        weak let engine: Engine?
        weak let channel: Channel?
        init(_ bird: BirdRealtime, _ channel: Channel) {
            self.bird = bird
            engine = bird.engine
            self.channel = channel
        }
        var isFreed: Bool { bird == nil && engine == nil && channel == nil }
    }

    @Test("M4: dropping the last reference closes the socket and frees everything, in every state")
    func freed() async {
        let ways: [@Sendable (Bench) -> Void] = [
            { _ in },
            { $0.connected() },
            { $0.connected().ends(1011) },
            { $0.connected().ends(4000) },
            {
                $0.connected(); $0.bird.disconnect()
            },
        ]
        for way in ways {
            var sockets: ScriptedSockets?
            let clock: StillClock
            let trace: Trace
            do {
                let bench = Bench()
                sockets = bench.sockets
                clock = bench.clock
                let channel = bench.bird.subscribe("c")
                channel.bind("e") { _ in }
                way(bench)
                trace = Trace(bench.bird, channel)
            }
            await until { trace.isFreed }
            #expect(clock.timerCount == 0)
            // No socket is left open: either it was told to close, or it had ended before.
            for socket in sockets?.sockets ?? [] { socket.link.gone() }
            sockets = nil
        }
    }

    @Test("The last reference may go inside a handler, with events still waiting")
    func droppedInHandler() async {
        final class Holder: @unchecked Sendable {
            // Only touched on the delivery queue after it was filled.
            var bird: BirdRealtime?
        }
        let sockets: ScriptedSockets
        let queue: DispatchQueue
        let trace: Trace
        let heard = Heard<String>()
        let holder = Holder()
        do {
            let bench = Bench()
            (sockets, queue) = (bench.sockets, bench.queue)
            let channel = bench.bird.subscribe("c")
            channel.bind("e") { [holder] data in
                heard.append(described(data))
                holder.bird = nil
            }
            let socket = bench.connected()
            bench.settle()
            holder.bird = bench.bird
            trace = Trace(bench.bird, channel)
            queue.suspend()
            for number in 1...5 { socket.publishes("e", on: "c", "\(number)") }
        }
        // From here on the holder has the only reference.
        queue.resume()
        await until { trace.isFreed }
        #expect(heard.all == ["1"])
        #expect(sockets.last.closing != nil)
    }

    @Test("M1: eight threads call everything while the connection comes and goes")
    func storm() async {
        var options = BirdRealtimeOptions(appKey: "key", region: "us1")
        options.authorizer = { _, _ in ChannelAuth(auth: "a", memberData: #"{"member_id":1}"#) }
        let bench = Bench(options)
        let heard = Heard<String>()
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    for round in 0..<60 {
                        let name = ["a", "private-b", "presence-c", "d"][(thread + round) % 4]
                        let channel = bench.bird.subscribe(name)
                        let token = channel.bind("e") { heard.append("\($0 ?? "nil")") }
                        _ = try? channel.trigger("client-x", data: round)
                        _ = (channel as? PresenceChannel)?.members
                        channel.unbind("e", token)
                        if round % 5 == thread % 5 { bench.bird.unsubscribe(name) }
                        if thread == 0, round % 20 == 19 {
                            bench.bird.disconnect()
                            bench.bird.connect()
                        }
                        await Task.yield()
                    }
                }
            }
            group.addTask {
                for round in 0..<40 {
                    let socket = bench.sockets.last
                    socket.establishes("\(round).1")
                    for name in ["a", "private-b", "presence-c", "d"] {
                        socket.accepts(name)
                        socket.publishes("e", on: name, "\(round)")
                    }
                    await Task.yield()
                    socket.ends(1011)
                    bench.bird.connect()
                }
            }
        }
        bench.settle()
        bench.bird.disconnect()
        #expect(bench.bird.connectionState == .disconnected)
    }

    @Test(
        "M2: from every kind of handler, calls return, also those of another thread that the handler waits for"
    )
    func noDeadlock() {
        let bench = Bench()
        let heard = Heard<String>()
        let calls: @Sendable (String) -> Void = { [weak bird = bench.bird] kind in
            let work: @Sendable () -> Void = { [weak bird] in
                bird?.subscribe("x")
                bird?.channel("x")?.bind("y") { _ in }
                bird?.unsubscribe("x")
                _ = bird?.connectionState
            }
            work()
            let done = DispatchSemaphore(value: 0)
            DispatchQueue.global().async {
                work()
                done.signal()
            }
            done.wait()
            heard.append(kind)
        }
        bench.bird.onConnectionStateChange { _, _ in calls("state") }
        bench.bird.onError { _ in calls("error") }
        bench.bird.onConnectingIn { _ in calls("wait") }
        let channel = bench.bird.subscribe("c")
        channel.bind("e") { _ in calls("event") }
        channel.bind(BirdProtocol.Event.subscriptionSucceeded) { _ in calls("subscribed") }
        let socket = bench.connected()
        socket.accepts("c")
        socket.publishes("e", on: "c", "1")
        socket.says(#"{"event":"bird:error","data":{"code":4301}}"#)
        socket.ends(1011)
        bench.settle()
        #expect(heard.all == ["state", "subscribed", "event", "error", "state", "wait"])
    }
}
