import Glibc
import Testing

@testable import SystemIO

@Suite struct HappyEyeballsTests {
    private let a6 = SocketAddress.v6(IPv6Address(value: 0xA), port: 1)
    private let b6 = SocketAddress.v6(IPv6Address(value: 0xB), port: 1)
    private let c6 = SocketAddress.v6(IPv6Address(value: 0xC), port: 1)
    private let a4 = SocketAddress.v4(IPv4Address(value: 0xA), port: 1)
    private let b4 = SocketAddress.v4(IPv4Address(value: 0xB), port: 1)

    private func at(_ milliseconds: Int64) -> BootInstant {
        BootInstant(nanoseconds: milliseconds * 1_000_000)
    }
    private func refused(_ name: String) -> SystemError {
        SystemError(errno: ECONNREFUSED, operation: "connect to \(name)")
    }

    @Test("§4: families take turns, the resolver's first family first, each in its order")
    func interleaving() {
        #expect(HappyEyeballs([a6, b6, c6, a4, b4]).order == [a6, a4, b6, b4, c6])
        #expect(HappyEyeballs([a4, b4, a6]).order == [a4, a6, b4])
        #expect(HappyEyeballs([a4, a4, a6, a4]).order == [a4, a6])
        #expect(HappyEyeballs([b6, a6]).order == [b6, a6])
        #expect(HappyEyeballs([]).order == [])
    }

    @Test("§5: attempts start 250 ms apart")
    func stagger() {
        var race = HappyEyeballs([a6, b6, a4])
        #expect(race.start(at: at(0)) == [.connect(0, a6)])
        #expect(race.deadline == at(250))
        #expect(race.timerFired(at: at(249)) == [])
        #expect(race.timerFired(at: at(250)) == [.connect(1, a4)])
        #expect(race.deadline == at(500))
        #expect(race.timerFired(at: at(510)) == [.connect(2, b6)])
        #expect(race.deadline == nil)
        #expect(race.timerFired(at: at(9999)) == [])
    }

    @Test("§5: a failed attempt starts the next at once, and the delay counts from there")
    func failure() {
        var race = HappyEyeballs([a6, b6, a4])
        _ = race.start(at: at(0))
        #expect(race.failed(0, refused("a6"), at: at(10)) == [.connect(1, a4)])
        #expect(race.deadline == at(260))
        #expect(race.timerFired(at: at(250)) == [])
        #expect(race.timerFired(at: at(260)) == [.connect(2, b6)])
    }

    @Test("§5: the first connection wins, the others are cancelled")
    func success() {
        var race = HappyEyeballs([a6, b6, a4])
        _ = race.start(at: at(0))
        _ = race.timerFired(at: at(250))
        _ = race.timerFired(at: at(500))
        #expect(race.connected(1) == [.abandon(0), .abandon(2), .succeed(1)])
        #expect(race.deadline == nil)
        #expect(race.connected(0) == [])
        #expect(race.failed(2, refused("b6"), at: at(501)) == [])
        #expect(race.timerFired(at: at(9999)) == [])
        #expect(race.cancel() == [])
    }

    @Test("the first address answering within the delay is the only one tried")
    func preferred() {
        var race = HappyEyeballs([a6, a4])
        _ = race.start(at: at(0))
        #expect(race.connected(0) == [.succeed(0)])
    }

    @Test("when all fail, each address is named with its cause, in the order of the attempts")
    func allFail() {
        var race = HappyEyeballs([a6, a4])
        _ = race.start(at: at(0))
        _ = race.timerFired(at: at(250))
        #expect(race.failed(1, refused("a4"), at: at(251)) == [])
        #expect(race.failed(0, refused("a6"), at: at(252)) == [.fail([refused("a6"), refused("a4")])])
        #expect(race.failed(0, refused("a6"), at: at(253)) == [])
    }

    @Test("G1: a silent IPv6 address costs one delay, not the connection")
    func blackHole() {
        var race = HappyEyeballs([a6, a4])
        #expect(race.start(at: at(0)) == [.connect(0, a6)])
        #expect(race.timerFired(at: at(250)) == [.connect(1, a4)])
        #expect(race.connected(1) == [.abandon(0), .succeed(1)])
    }

    @Test("cancelling abandons what is under way")
    func cancelling() {
        var race = HappyEyeballs([a6, a4, b6])
        _ = race.start(at: at(0))
        _ = race.timerFired(at: at(250))
        #expect(race.cancel() == [.abandon(0), .abandon(1)])
        #expect(race.deadline == nil)
        #expect(race.connected(0) == [])
        #expect(race.cancel() == [])
    }

    @Test("random races: nothing is tried twice, one end, nobody left over", arguments: 1...50)
    func random(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let addresses = [a6, b6, c6, a4, b4].shuffled(using: &random).prefix(
            Int.random(in: 1...5, using: &random))
        var race = HappyEyeballs(Array(addresses))
        var (started, inFlight, ends, now) = (0, Set<Int>(), 0, Int64(0))
        func apply(_ actions: [HappyEyeballs.Action]) {
            for action in actions {
                switch action {
                case .connect(let attempt, let address):
                    #expect(attempt == started && race.order[attempt] == address, "seed \(seed)")
                    started += 1
                    inFlight.insert(attempt)
                case .abandon(let attempt), .succeed(let attempt):
                    #expect(inFlight.remove(attempt) != nil, "seed \(seed)")
                    if case .succeed = action { ends += 1 }
                case .fail(let errors):
                    #expect(errors.count == addresses.count, "seed \(seed)")
                    ends += 1
                }
            }
        }
        apply(race.start(at: at(0)))
        for _ in 0..<100 where ends == 0 {
            #expect(!inFlight.isEmpty, "seed \(seed)")
            now += Int64.random(in: 0..<200, using: &random)
            guard let attempt = inFlight.sorted().randomElement(using: &random) else { break }
            switch Int.random(in: 0..<10, using: &random) {
            case 0: apply(race.connected(attempt))
            case 1..<4:
                inFlight.remove(attempt)
                apply(race.failed(attempt, refused("\(attempt)"), at: at(now)))
            default: apply(race.timerFired(at: at(now)))
            }
        }
        if ends == 0 {
            for attempt in inFlight.sorted() {
                #expect(inFlight.remove(attempt) != nil)
                apply(race.failed(attempt, refused("\(attempt)"), at: at(now)))
            }
            while ends == 0, let attempt = inFlight.first {
                inFlight.remove(attempt)
                apply(race.failed(attempt, refused("\(attempt)"), at: at(now)))
            }
        }
        #expect(ends == 1 && inFlight.isEmpty && race.deadline == nil, "seed \(seed)")
    }
}
