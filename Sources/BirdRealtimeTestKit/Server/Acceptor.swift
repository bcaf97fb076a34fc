internal import SystemIO

/// A listening socket on the edge's loop. Tells that connections wait; the server takes them one by one.
final class Acceptor: ReadinessHandler {
    private let loop: EventLoop
    private var listener: ListeningSocket?
    private let descriptor: Int32
    private var watch: WatchID?
    private var pause: TimerID?
    private let connectionsWait: () -> Void

    let port: UInt16

    init(_ address: SocketAddress, loop: EventLoop, connectionsWait: @escaping () -> Void) throws(SystemError)
    {
        let listener = try ListeningSocket.bind(address)
        descriptor = listener.rawValue
        port = listener.address.port ?? 0
        self.listener = consume listener
        self.loop = loop
        self.connectionsWait = connectionsWait
    }

    func start() throws(SystemError) {
        watch = try loop.watch(descriptor, .read, self)
    }

    func stop() {
        if let watch { loop.unwatch(watch) }
        if let pause { loop.cancel(pause) }
        watch = nil
        pause = nil
        listener = nil
    }

    func ready(_ readiness: Readiness) { connectionsWait() }

    /// The next connection; nil when none waits now.
    func accept() -> TCPSocket? {
        do throws(SystemError) {
            return try listener?.accept()
        } catch {
            // No descriptors left: the socket stays readable, so looking again at once would spin.
            if let watch {
                loop.change(watch, [])
                pause = loop.schedule(at: .now.advanced(by: .milliseconds(50))) { [weak self] in
                    guard let self, let watch = self.watch else { return }
                    self.loop.change(watch, .read)
                }
            }
            return nil
        }
    }
}
