import SystemIO
import Testing

@Suite(.timeLimit(.minutes(2))) struct LoopWaitTests {
    @Test("a wait ends when the descriptor is ready")
    func ready() async throws {
        try await withLoop { loop in
            var pair = try SocketPair()
            let near = pair.takeFirst()
            let far = pair.takeSecond()
            let number = far.rawValue
            #expect(try await loop.waitUntilReady(number, .write) == .writable)
            async let readiness = loop.waitUntilReady(number, .read)
            try near.put("x")
            #expect(try await readiness.contains(.readable))
        }
    }

    @Test("a wait in a cancelled task ends at once and leaves no watch behind")
    func cancelledBefore() async throws {
        try await withLoop { loop in
            var pair = try SocketPair()
            let far = pair.takeSecond()
            let number = far.rawValue
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await loop.waitUntilReady(number, .read)
            }
            await #expect(throws: WaitFailure.cancelled) { try await task.value }
            #expect(try await loop.waitUntilReady(number, .write) == .writable)
        }
    }

    @Test("a cancelled wait has ended its watch when it throws", arguments: 0..<20)
    func cancelledDuring(round: Int) async throws {
        try await withLoop { loop in
            var pair = try SocketPair()
            let far = pair.takeSecond()
            let number = far.rawValue
            let task = Task { try await loop.waitUntilReady(number, .read) }
            for _ in 0..<round { await loop.run {} }
            task.cancel()
            await #expect(throws: WaitFailure.cancelled) { try await task.value }
            // A watch left behind would make this one fail.
            #expect(try await loop.waitUntilReady(number, .write) == .writable)
        }
    }

    @Test("cancelling while the descriptor becomes ready resumes once, with either result")
    func cancellationRace() async throws {
        try await withLoop { loop in
            for _ in 0..<200 {
                var pair = try SocketPair()
                let near = pair.takeFirst()
                let far = pair.takeSecond()
                let number = far.rawValue
                let task = Task { try await loop.waitUntilReady(number, .read) }
                let canceller = Task.detached { task.cancel() }
                try near.put("x")
                switch await task.result {
                case .success(let readiness): #expect(readiness == .readable)
                case .failure(let error): #expect(error as? WaitFailure == .cancelled)
                }
                await canceller.value
            }
        }
    }

    @Test("a wait from an actor that lives on the loop")
    func fromResident() async throws {
        actor Resident {
            let loop: EventLoop
            init(_ loop: EventLoop) { self.loop = loop }
            nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
            func wait(_ number: Int32) async throws -> Bool {
                _ = try await loop.waitUntilReady(number, .write)
                return loop.isOnLoop
            }
        }
        try await withLoop { loop in
            var pair = try SocketPair()
            let far = pair.takeSecond()
            let number = far.rawValue
            #expect(try await Resident(loop).wait(number))
        }
    }

    @Test("a descriptor that cannot be watched is an error in words")
    func badDescriptor() async throws {
        try await withLoop { loop in
            do {
                _ = try await loop.waitUntilReady(-1, .read)
                Issue.record("no error")
            } catch {
                #expect("\(error)".contains("Bad file descriptor"))
            }
        }
    }

    @Test("a sleep is cancellable at any moment")
    func sleeping() async throws {
        try await withLoop { loop in
            for round in 0..<50 {
                let task = Task { try await loop.sleep(until: .distantFuture) }
                for _ in 0..<(round % 5) { await loop.run {} }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            try await loop.sleep(until: BootInstant(nanoseconds: 0))
        }
    }

    @Test("run brings values and errors back")
    func running() async throws {
        try await withLoop { loop in
            #expect(await loop.run { 42 } == 42)
            await #expect(throws: SystemError.self) {
                try await loop.run { throw SystemError(errno: 5, operation: "test") }
            }
        }
    }
}
