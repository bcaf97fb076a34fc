import Testing

@testable import RealtimeCore

@Suite("§6 Reconnecting") struct ReconnectTests {
    @Test(
        "I6 close codes follow the policy line",
        arguments: [
            (3999, ConnectionPhase.unavailable), (4000, .failed), (4001, .failed), (4099, .failed),
            (4100, .unavailable),
            (4199, .unavailable), (4200, .connecting), (4299, .connecting), (4300, .unavailable),
            (nil, .unavailable),
        ] as [(Int?, ConnectionPhase)])
    func codes(code: Int?, phase: ConnectionPhase) {
        var client = Client.connected()
        let actions = client.end(code: code, "why")
        #expect(client.machine.phase == phase)
        #expect(actions.errors == (phase == .failed ? [ErrorReport(code: code, message: "why")] : []))
        if phase == .failed { #expect(client.wait(.seconds(3600)) == []) }
    }

    @Test("I6 an error as the last word decides when there is no close code")
    func lastWord() {
        var client = Client.connected()
        #expect(client.serverError(4004).errors.count == 1)
        #expect(client.end(.endOfStream) == [.stateChanged(from: .connected, to: .failed)])
        client = Client.connected()
        client.serverError(4004)
        client.receive(#"{"event":"x"}"#)
        #expect(client.end(.endOfStream).phases == [.unavailable])
        client = Client.connected()
        client.serverError(nil)
        #expect(client.end(.endOfStream).phases == [.unavailable])
        client = Client.connected()
        client.serverError(4201)
        #expect(client.end(.endOfStream).phases == [.unavailable, .connecting])
    }

    @Test("an error before the handshake is heard, and its close is not told again")
    func errorBeforeHandshake() {
        var client = Client()
        client.connect()
        #expect(
            client.serverError(4001, "no such app").errors == [
                ErrorReport(code: 4001, message: "no such app")
            ])
        #expect(client.end(code: 4001) == [.stateChanged(from: .connecting, to: .failed)])
    }

    @Test("each attempt that fails is told once, with host, phase, cause and status, and no code")
    func attemptErrors() {
        var client = Client()
        client.connect()
        let actions = client.fail(AttemptFailure(.upgrade, "refused", httpStatus: 403))
        #expect(
            actions.errors == [
                ErrorReport(
                    message: "cannot connect to ws.test:443: the WebSocket upgrade: refused (HTTP status 403)"
                )
            ])
        #expect(actions.phases == [.unavailable])
    }

    @Test("I4 accept-then-drop: the bound of the delay grows to the cap")
    func growingBound() {
        for seed in UInt64(0)..<50 {
            var client = Client(seed: seed)
            client.connect()
            for attempt in 0..<20 {
                client.machine.socketOpened(client.socket)
                client.end(.endOfStream)
                let bound = min(30.0, Double(1 << min(attempt, 5)))
                #expect(
                    client.retryDelay.map { $0 >= .zero && $0 <= .seconds(bound) } == true, "seed \(seed)")
                client.wait(.seconds(30))
            }
            #expect(client.machine.schedule.attempt == 20)
        }
    }

    @Test("I4 a thousand clients dropped together spread over the window")
    func spread() {
        var buckets = [Int](repeating: 0, count: 10)
        for seed in UInt64(0)..<1000 {
            var client = Client.connected(seed: seed)
            client.end(code: 1012)
            let seconds = client.retryDelay?.inSeconds ?? -1
            #expect((0..<1).contains(seconds))
            buckets[min(9, Int(max(0, seconds) * 10))] += 1
        }
        #expect(buckets.allSatisfy { (60...140).contains($0) }, "\(buckets)")
    }

    @Test("a handshake resets the counter")
    func reset() {
        var client = Client()
        client.connect()
        for _ in 0..<6 {
            client.fail()
            client.wait(.seconds(30))
        }
        client.establish(1)
        #expect(client.machine.schedule.attempt == 0)
    }

    @Test("flapping: after two young deaths handshakes do not reset the counter, five seconds of life do")
    func flapping() {
        var client = Client.connected()
        for number in 2..<8 {
            client.now = client.now + .milliseconds(4_999)
            client.end(code: 1011)
            client.connect()
            client.establish(number)
        }
        #expect(client.machine.schedule.attempt == 5)
        client.now = client.now + .seconds(5)
        client.end(code: 1011)
        #expect(client.machine.schedule.attempt == 1)
    }

    @Test("the flapping brake never delays a 42xx retry")
    func flappingAndImmediate() {
        var client = Client.connected()
        for number in 2..<5 {
            client.end(code: 1011)
            client.connect()
            client.establish(number)
        }
        #expect(client.end(code: 4200).phases == [.unavailable, .connecting])
    }

    @Test("an immediate retry that did not reach connected brakes until an attempt does")
    func immediateBrake() {
        var client = Client.connected()
        #expect(client.end(code: 4200).phases == [.unavailable, .connecting])
        #expect(client.machine.schedule.attempt == 0)
        #expect(client.end(code: 4200).phases == [.unavailable])
        client.connect()
        #expect(client.end(code: 4200).phases == [.unavailable])
        client.connect()
        client.establish(2)
        client.wait(.seconds(11))
        #expect(client.end(code: 4200).phases == [.unavailable, .connecting])
    }

    @Test("more than five immediate retries within ten seconds: backoff")
    func immediateLimit() {
        var client = Client.connected()
        for number in 2..<7 {
            #expect(client.end(code: 4200).phases == [.unavailable, .connecting])
            client.establish(number)
            client.now = client.now + .seconds(1)
        }
        #expect(client.end(code: 4200).phases == [.unavailable])
        client.connect()
        client.establish(9)
        client.now = client.now + .seconds(10)
        #expect(client.end(code: 4200).phases == [.unavailable, .connecting])
    }

    @Test(
        "A6 Retry-After lengthens the wait, capped, for 429 and 503 only",
        arguments: [
            (429, 7.0, 7.0...7.0), (503, 99_999_999, 300...300), (429, -1, 0...1), (403, 7, 0...1),
            (429, 0, 0...1),
        ])
    func retryAfter(status: Int, seconds: Double, expected: ClosedRange<Double>) {
        var client = Client()
        client.connect()
        client.fail(AttemptFailure(.upgrade, "busy", httpStatus: status, retryAfter: .seconds(seconds)))
        #expect(expected.contains(client.retryDelay?.inSeconds ?? -1))
        let now = client.now
        #expect(client.perform { $0.retryNow(at: now, into: &$1) }.openedSockets == 1)
        #expect(client.perform { $0.retryNow(at: now, into: &$1) } == [])
    }

    @Test("the app's policy: bounds, rule and seed")
    func policy() {
        var policy = ReconnectPolicy()
        policy.minimumDelay = .seconds(2)
        policy.seed = 9
        policy.rule = { $0 == 4001 ? .backOff : $0 == 1000 ? .fail : nil }
        var client = Client.connected { $0.reconnect = policy }
        client.end(code: 4001)
        #expect(client.retryDelay == .seconds(2))
        client.connect()
        client.establish(2)
        #expect(client.end(code: 1000).phases == [.failed])
        var extreme = ReconnectPolicy()
        extreme.baseDelay = .seconds(Int64.max)
        extreme.maximumDelay = .seconds(Int64.max)
        client = Client.connected { $0.reconnect = extreme }
        client.end()
        #expect(client.machine.phase == .unavailable)
    }

    @Test("a floor keeps the jitter: nobody waits a fixed time")
    func floor() {
        var policy = ReconnectPolicy()
        policy.baseDelay = .seconds(4)
        policy.minimumDelay = .seconds(2)
        var delays: Set<Duration> = []
        for seed in UInt64(0)..<100 {
            var client = Client.connected(seed: seed) { $0.reconnect = policy }
            client.end()
            let delay = client.retryDelay ?? .zero
            #expect((.seconds(2)...(.seconds(4))).contains(delay), "seed \(seed)")
            delays.insert(delay)
        }
        #expect(delays.count > 90)
    }

    @Test("the same seed gives the same waits")
    func repeatable() {
        func waits(_ seed: UInt64) -> [Duration?] {
            var client = Client(seed: seed)
            client.connect()
            return (0..<10).map { _ in
                client.fail()
                defer { client.connect() }
                return client.retryDelay
            }
        }
        #expect(waits(5) == waits(5))
        #expect(waits(5) != waits(6))
    }
}
