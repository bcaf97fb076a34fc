import Dispatch
import RealtimeCore
import Synchronization
import SystemIO
import Testing

@testable import BirdRealtime

@Suite(.timeLimit(.minutes(2))) struct DeliveryTests {
    @Test("Beyond the limit the newest events are dropped and counted, and each run is reported once")
    func bounded() {
        var options = BirdRealtimeOptions(appKey: "key", region: "us1")
        options.maxPendingDeliveryBytes = 1000
        let bench = Bench(options)
        let (heard, errors) = (Heard<String>(), Heard<String>())
        bench.bird.onError { errors.append($0.message) }
        bench.bird.subscribe("c").bind("e", heard.handler)
        let socket = bench.connected()
        bench.settle()
        for _ in 0..<2 {
            bench.queue.sync {
                for number in 0..<100 { socket.publishes("e", on: "c", "\(number)") }
            }
            bench.settle()
        }
        let half = heard.count / 2
        #expect(half > 0 && half < 100)
        let run = (0..<half).map { "\($0)" }
        #expect(heard.all == run + run)
        #expect(bench.bird.droppedEventCount == 200 - heard.count)
        #expect(errors.count == 2)
        #expect(errors.all.first?.contains("maxPendingDeliveryBytes") == true)
    }

    @Test("Everything of one burst takes one hop, and a slow handler does not hold up the reading side")
    func slowHandler() {
        let bench = Bench()
        let heard = Heard<String>()
        bench.bird.subscribe("c").bind("e", heard.handler)
        let socket = bench.connected()
        bench.settle()
        bench.queue.sync {
            // The delivery queue is busy for as long as this block runs.
            for number in 0..<1000 { socket.publishes("e", on: "c", "\(number)") }
            socket.says(#"{"event":"bird:ping"}"#)
            #expect(socket.sent.last == #"{"event":"bird:pong","data":{}}"#)
            #expect(heard.count == 0)
        }
        bench.settle()
        #expect(heard.all == (0..<1000).map { "\($0)" })
    }

    @Test("States, errors and events arrive in the order in which they happened")
    func order() {
        let bench = Bench()
        let heard = Heard<String>()
        bench.bird.onConnectionStateChange { heard.append($1.rawValue) }
        bench.bird.onError { heard.append("error \($0.code ?? 0)") }
        bench.bird.subscribe("a").bind("e") { heard.append("a\(described($0))") }
        bench.bird.subscribe("b").bind("e") { heard.append("b\(described($0))") }
        let socket = bench.connected()
        for number in 1...3 {
            socket.publishes("e", on: "a", "\(number)")
            socket.publishes("e", on: "b", "\(number)")
        }
        socket.says(#"{"event":"bird:error","data":{"code":4001,"message":"m"}}"#)
        socket.ends(4001)
        bench.settle()
        #expect(
            heard.all == ["connected", "a1", "b1", "a2", "b2", "a3", "b3", "error 4001", "failed"])
    }

    @Test("Inline delivery runs handlers on the thread that reads the sockets")
    func inline() async {
        var options = BirdRealtimeOptions(appKey: "key", region: "us1")
        options.delivery = .inline
        let bench = Bench(options)
        let heard = Heard<String>()
        bench.bird.onConnectionStateChange { heard.append("\($1.rawValue) \(EventLoop.shared.isOnLoop)") }
        bench.bird.subscribe("c").bind("e") { heard.append("\(described($0)) \(EventLoop.shared.isOnLoop)") }
        let socket = bench.connected()
        EventLoop.shared.submit { socket.publishes("e", on: "c", "1") }
        await until { heard.count == 2 }
        #expect(heard.all == ["connected true", "1 true"])
    }

    @Test("Nobody is bound: nothing is decoded, copied or delivered")
    func nobody() {
        let bench = Bench()
        bench.bird.subscribe("c")
        let socket = bench.connected()
        bench.settle()
        bench.queue.sync {
            socket.publishes("e", on: "c", "1")
            #expect(bench.bird.engine.delivery.isIdle)
        }
    }
}
