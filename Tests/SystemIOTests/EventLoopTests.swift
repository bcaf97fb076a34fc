import Glibc
import Synchronization
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(2))) struct EventLoopTests {
    private actor Resident {
        private let loop: EventLoop
        private var entries: [Int] = []
        init(_ loop: EventLoop) { self.loop = loop }
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        func append(_ entry: Int) { entries.append(entry) }
        func all() -> (entries: [Int], isOnLoop: Bool) { (entries, loop.isOnLoop) }
    }

    @Test("an actor lives on the loop's thread, and code there is inside the actor")
    func actor() async throws {
        try await withLoop { loop in
            let resident = Resident(loop)
            #expect(!loop.isOnLoop)
            await loop.run {
                #expect(loop.isOnLoop)
                resident.assumeIsolated { $0.append(7) }
            }
            let (entries, isOnLoop) = await resident.all()
            #expect(entries == [7])
            #expect(isOnLoop)
        }
    }

    @Test("submitted work keeps its order, also between threads that wait for each other")
    func order() async throws {
        try await withLoop { loop in
            let log = Log<Int>()
            for number in 0..<1000 { loop.submit { log.append(number) } }
            await loop.run {}
            #expect(log.all == Array(0..<1000))
        }
    }

    @Test("work from many tasks all runs, each task's in its order")
    func manyProducers() async throws {
        try await withLoop { loop in
            let log = Log<(producer: Int, number: Int)>()
            await withTaskGroup { group in
                for producer in 0..<8 {
                    group.addTask {
                        for number in 0..<500 { loop.submit { log.append((producer, number)) } }
                    }
                }
            }
            await loop.run {}
            for producer in 0..<8 {
                #expect(log.all.filter { $0.producer == producer }.map(\.number) == Array(0..<500))
            }
        }
    }

    @Test("submitting from the loop never runs inside the call")
    func noRecursion() async throws {
        try await withLoop { loop in
            let log = Log<String>()
            await loop.run {
                loop.submit { log.append("inner") }
                log.append("outer")
            }
            await loop.run {}
            #expect(log.all == ["outer", "inner"])
        }
    }

    @Test("a chain of work that never ends does not starve descriptors and timers")
    func fairness() async throws {
        try await withLoop { loop in
            var pair = try SocketPair()
            let near = pair.takeFirst()
            let far = pair.takeSecond()
            let number = far.rawValue
            let isOver = Flag()
            @Sendable func again() {
                if !isOver.isSet { loop.submit { again() } }
            }
            loop.submit { again() }
            try await loop.sleep(until: .now.advanced(by: .milliseconds(1)))
            try near.put("x")
            let readiness = try await loop.waitUntilReady(number, .read)
            isOver.set()
            #expect(readiness.contains(.readable))
        }
    }

    @Test("an unwatched handler hears nothing more, not even from the same batch of events")
    func unwatchWithinBatch() async throws {
        try await withLoop { loop in
            var one = try SocketPair()
            let oneNear = one.takeFirst()
            let oneFar = one.takeSecond()
            var two = try SocketPair()
            let twoNear = two.takeFirst()
            let twoFar = two.takeSecond()
            try oneNear.put("x")
            try twoNear.put("x")
            let numbers = (oneFar.rawValue, twoFar.rawValue)
            let log = Log<String>()
            try await loop.run {
                // Both are ready and reported in one batch: whichever is served first silences both.
                var ids: [WatchID] = []
                let silence = { (name: String) in
                    log.append(name)
                    for id in ids { loop.unwatch(id) }
                }
                ids.append(try loop.watch(numbers.0, .read, HandlerProbe { _ in silence("one") }))
                ids.append(try loop.watch(numbers.1, .read, HandlerProbe { _ in silence("two") }))
            }
            await rounds(3, of: loop)
            #expect(log.all.count == 1)
        }
    }

    @Test("a descriptor number that is used again does not hear its predecessor's event")
    func descriptorReuse() async throws {
        try await withLoop { loop in
            let log = Log<String>()
            var one = try SocketPair()
            let oneNear = one.takeFirst()
            let oneFar = one.takeSecond()
            var two = try SocketPair()
            let twoNear = two.takeFirst()
            let twoFar = two.takeSecond()
            var silent = try SocketPair()
            let silentFar = silent.takeSecond()
            try oneNear.put("x")
            try twoNear.put("x")
            let numbers = [oneFar.rawValue, twoFar.rawValue]
            let silentNumber = silentFar.rawValue
            try await loop.run {
                var ids: [WatchID] = []
                for index in 0...1 {
                    // Whichever is served first replaces the other's descriptor by a silent one of the same number.
                    let probe = HandlerProbe { _ in
                        log.append("first")
                        for id in ids { loop.unwatch(id) }
                        // dup2 closes the old descriptor and gives its number to the silent socket.
                        #expect(dup2(silentNumber, numbers[1 - index]) == numbers[1 - index])
                        _ = try? loop.watch(
                            numbers[1 - index], .read, HandlerProbe { _ in log.append("stale") })
                    }
                    ids.append(try loop.watch(numbers[index], .read, probe))
                }
            }
            await rounds(3, of: loop)
            #expect(log.all == ["first"])
        }
    }

    @Test("a changed interest counts from that moment on")
    func change() async throws {
        try await withLoop { loop in
            var pair = try SocketPair()
            let near = pair.takeFirst()
            let far = pair.takeSecond()
            let number = far.rawValue
            let log = Log<Readiness>()
            let id = try await loop.run {
                try loop.watch(number, [], HandlerProbe { log.append($0) })
            }
            try near.put("x")
            await rounds(3, of: loop)
            #expect(log.all.isEmpty)
            await loop.run { loop.change(id, [.read, .write]) }
            await rounds(1, of: loop)
            #expect(log.all.first == [.readable, .writable])
        }
    }

    @Test("a hang-up without interest is reported, but not again and again")
    func hangupWithoutInterest() async throws {
        try await withLoop { loop in
            var pair = try SocketPair()
            let near = pair.takeFirst()
            let far = pair.takeSecond()
            let number = far.rawValue
            let log = Log<Readiness>()
            _ = try await loop.run { try loop.watch(number, [], HandlerProbe { log.append($0) }) }
            near.abort()
            await rounds(50, of: loop)
            #expect(log.all.first?.contains(.hangup) == true)
            #expect(log.all.count < 5)
        }
    }

    @Test("a second watch of one descriptor is refused with a reason")
    func twoWatches() async throws {
        try await withLoop { loop in
            var pair = try SocketPair()
            let far = pair.takeSecond()
            let number = far.rawValue
            await loop.run {
                _ = try? loop.watch(number, .read, HandlerProbe { _ in })
                #expect(throws: SystemError(errno: EEXIST, operation: "watch descriptor \(number)")) {
                    _ = try loop.watch(number, .write, HandlerProbe { _ in })
                }
            }
        }
    }

    @Test("timers fire by deadline, equal ones in order, those in the past too, cancelled ones never")
    func timers() async throws {
        try await withLoop { loop in
            let log = Log<Int>()
            let start = BootInstant.now
            await loop.run {
                let later = start.advanced(by: .milliseconds(30))
                loop.schedule(at: later) { log.append(3) }
                loop.schedule(at: later) { log.append(4) }
                loop.cancel(loop.schedule(at: later) { log.append(-1) })
                loop.schedule(at: start.advanced(by: .milliseconds(10))) { log.append(2) }
                loop.schedule(at: BootInstant(nanoseconds: 0)) { log.append(1) }
                loop.schedule(at: .distantFuture) { log.append(-2) }
            }
            try await loop.sleep(until: start.advanced(by: .milliseconds(31)))
            #expect(log.all == [1, 2, 3, 4])
            #expect(BootInstant.now >= start.advanced(by: .milliseconds(31)))
        }
    }

    @Test("a cancelled timer lets its closure go at once")
    func timerRelease() async throws {
        final class Token: Sendable {}
        try await withLoop { loop in
            await loop.run {
                weak var seen: Token?
                let id: TimerID
                do {
                    let token = Token()
                    seen = token
                    id = loop.schedule(at: .distantFuture) { _ = token }
                }
                #expect(seen != nil)
                loop.cancel(id)
                #expect(seen == nil)
            }
        }
    }

    @Test("stopping lets go of handlers and timers and runs what was submitted before")
    func stopping() async throws {
        final class Token: Sendable {}
        weak var seen: Token?
        let log = Log<String>()
        do {
            var pair = try SocketPair()
            let far = pair.takeSecond()
            let number = far.rawValue
            let loop = EventLoop(name: "test")
            do {
                let token = Token()
                seen = token
                try await loop.run {
                    _ = try loop.watch(number, .read, HandlerProbe { _ in _ = token })
                    loop.schedule(at: .distantFuture) { _ = token }
                }
            }
            #expect(seen != nil)
            loop.submit { log.append("last words") }
            await loop.stop()
            await loop.stop()
            loop.submit { log.append("too late") }
        }
        #expect(seen == nil)
        #expect(log.all == ["last words"])
    }

    @Test("the thread blocks signals, but for its own faults")
    func signalMask() async throws {
        try await withLoop { loop in
            await loop.run {
                var mask = sigset_t()
                pthread_sigmask(SIG_BLOCK, nil, &mask)
                for signal in [SIGUSR1, SIGTERM, SIGINT, SIGCHLD, SIGPIPE, SIGALRM] {
                    #expect(sigismember(&mask, signal) == 1)
                }
                for signal in [SIGSEGV, SIGBUS, SIGILL] { #expect(sigismember(&mask, signal) == 0) }
            }
        }
    }

    @Test("a loop leaves no descriptor and no thread behind")
    func noLeaks() async {
        await #expect(processExitsWith: .success) {
            let descriptors = descriptorCount("anon_inode:")
            let threads = threadCount()
            for _ in 0..<100 {
                try await withLoop { loop in try await loop.sleep(until: .now) }
            }
            // The runtime may have started threads and an epoll of its own meanwhile, but not one for each loop.
            #expect(descriptorCount("anon_inode:") < descriptors + 50)
            #expect(threadCount() < threads + 50)
        }
    }
}
