internal import Glibc

/// Why no connection came about.
package enum ConnectError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The calling task was cancelled.
    case cancelled
    /// There was no address to connect to.
    case noAddresses
    /// Each address that was tried, with its cause, in order.
    case failed([SystemError])

    package var description: String {
        switch self {
        case .cancelled: "connect: cancelled"
        case .noAddresses: "connect: no address to connect to"
        case .failed(let errors): errors.map(\.description).joined(separator: "; ")
        }
    }
}

/// Connects to the first address that answers, racing them as RFC 8305 says. From any task.
///
/// There is no limit of time but the kernel's (about two minutes): the caller owns the deadline and cancels. A cancelled call
/// throws once the loop has closed every socket of the race.
package func connectTCP(
    to addresses: [SocketAddress], on loop: EventLoop = .shared, isolation: isolated (any Actor)? = #isolation
) async throws(ConnectError) -> TCPSocket {
    let result: Result<Int32, ConnectError>
    do throws(WaitFailure) {
        result = try await loop.wait(isolation: isolation) {
            (wait: LoopWait<Result<Int32, ConnectError>>) in
            let race = ConnectRace(addresses, on: loop) { wait.finish(.success($0)) }
            race.start()
            return { race.cancel() }
        }
    } catch {
        throw .cancelled  // the race reports its own failures, the wait knows of nothing else
    }
    // A continuation carries copyable values only: the descriptor travels as a bare number, from one owner to the next.
    return TCPSocket(owning: Descriptor(owning: try result.get()))
}

/// Carries out what `HappyEyeballs` decides. Lives on the loop's thread.
private final class ConnectRace {
    private var machine: HappyEyeballs
    private var attempts: [HappyEyeballs.Attempt: ConnectAttempt] = [:]
    private var timer: TimerID?
    private let loop: EventLoop
    private let completion: (Result<Int32, ConnectError>) -> Void

    init(
        _ addresses: [SocketAddress], on loop: EventLoop,
        _ completion: @escaping (Result<Int32, ConnectError>) -> Void
    ) {
        machine = HappyEyeballs(addresses)
        self.loop = loop
        self.completion = completion
    }

    func start() {
        guard !machine.order.isEmpty else { return completion(.failure(.noAddresses)) }
        perform(machine.start(at: .now))
    }

    func cancel() { perform(machine.cancel()) }

    private func perform(_ actions: [HappyEyeballs.Action]) {
        // A loop, not a recursion: a thousand addresses that fail at once must not deepen the stack.
        var pending = actions
        while !pending.isEmpty {
            switch pending.removeFirst() {
            case .connect(let number, let address):
                pending += connect(number, to: address)
            case .abandon(let number):
                attempts.removeValue(forKey: number)?.abandon()
            case .succeed(let number):
                disarm()
                if let descriptor = attempts.removeValue(forKey: number)?.release() {
                    completion(.success(descriptor))
                }
            case .fail(let errors):
                disarm()
                completion(.failure(.failed(errors)))
            }
        }
        rearm()
    }

    private func connect(_ number: Int, to address: SocketAddress) -> [HappyEyeballs.Action] {
        do throws(SystemError) {
            let attempt = try ConnectAttempt(to: address, on: loop) { [unowned self] outcome in
                // Sound: the race is kept by its caller until it is over, and then no attempt is left to call.
                conclude(number, outcome)
            }
            attempts[number] = attempt
            return []
        } catch {
            return machine.failed(number, error, at: .now)
        }
    }

    private func conclude(_ number: Int, _ error: SystemError?) {
        guard let error else { return perform(machine.connected(number)) }
        attempts.removeValue(forKey: number)?.abandon()
        perform(machine.failed(number, error, at: .now))
    }

    private func rearm() {
        disarm()
        guard let deadline = machine.deadline else { return }
        timer = loop.schedule(at: deadline) { [unowned self] in
            // Sound: as above; the timer is cancelled when the race is over.
            timer = nil
            perform(machine.timerFired(at: max(deadline, .now)))
        }
    }

    private func disarm() {
        if let timer = timer.take() { loop.cancel(timer) }
    }
}

/// One connect(2) under way.
private final class ConnectAttempt: ReadinessHandler {
    private let address: SocketAddress
    private let loop: EventLoop
    private let completion: (SystemError?) -> Void
    private var socket: TCPSocket?
    private var watch: WatchID?

    init(to address: SocketAddress, on loop: EventLoop, _ completion: @escaping (SystemError?) -> Void)
        throws(SystemError)
    {
        self.address = address
        self.loop = loop
        self.completion = completion
        let socket = try TCPSocket(connectingTo: address)
        let number = socket.rawValue
        self.socket = consume socket
        // Also one that is connected already reports writable, in the next round: one path for all.
        watch = try loop.watch(number, .write, self)
    }

    func ready(_ readiness: Readiness) {
        let result: Result<Bool, SystemError>
        do throws(SystemError) {
            result = .success(try socket?.finishConnecting(to: address) ?? false)
        } catch {
            result = .failure(error)
        }
        switch result {
        case .success(true): completion(nil)
        case .success(false):
            guard readiness.contains(.hangup) else { return }  // woken too early
            completion(SystemError(errno: ENOTCONN, operation: "connect to \(address)"))
        case .failure(let error): completion(error)
        }
    }

    /// Closes without a trace: a peer whose accept crossed the winner's sees a reset, not a connection that says nothing.
    func abandon() {
        unwatch()
        socket.take()?.abort()
    }

    /// Gives the connected descriptor away.
    func release() -> Int32? {
        unwatch()
        return socket.take()?.release().release()
    }

    private func unwatch() {
        if let watch = watch.take() { loop.unwatch(watch) }
    }
}
