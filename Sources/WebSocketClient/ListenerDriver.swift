import SystemIO
import SystemTLS
import WebSocketCore

/// Accepts connections on the loop's thread.
actor ListenerDriver {
    typealias Accept = @Sendable (WebSocketListener.Request) -> WebSocketListener.Answer
    typealias Faults = @Sendable (_ connection: Int) -> WebSocketListener.AcceptFault

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let settings: ConnectionSettings
    private let tls: TLSContext?
    private let accept: Accept
    private let faults: Faults?
    private var socket: ListeningSocket?
    private var watch: WatchID?
    private var count = 0
    private var held: [HeldSocket] = []

    init(
        _ socket: consuming ListeningSocket, _ settings: ConnectionSettings, _ tls: TLSContext?,
        loop: EventLoop,
        faults: Faults?, accept: @escaping Accept
    ) {
        self.socket = consume socket
        self.settings = settings
        self.tls = tls
        self.loop = loop
        self.accept = accept
        self.faults = faults
    }

    func start() throws(SystemError) {
        guard let descriptor = socket?.rawValue else { return }
        watch = try loop.watch(descriptor, .read, self)
    }

    nonisolated func stop() {
        let body: @Sendable (isolated ListenerDriver) -> Void = { listener in
            if let watch = listener.watch.take() { listener.loop.unwatch(watch) }
            listener.socket = nil
            listener.held = []
        }
        if loop.isOnLoop { assumeIsolated(body) } else { loop.submit { self.assumeIsolated(body) } }
    }

    private func acceptAll() {
        while true {
            do throws(SystemError) {
                guard let next = try socket?.accept() else { return }
                count += 1
                serve(next, faults?(count) ?? .serve)
            } catch {
                // Out of descriptors or memory: the connection waits, and so do we.
                pause()
                return
            }
        }
    }

    private func pause() {
        guard let watch else { return }
        loop.change(watch, [])
        loop.schedule(at: BootInstant.now.advanced(by: .milliseconds(100))) { [weak self] in
            self?.assumeIsolated { listener in
                if let watch = listener.watch { listener.loop.change(watch, .read) }
            }
        }
    }

    private func serve(_ socket: consuming TCPSocket, _ fault: WebSocketListener.AcceptFault) {
        switch fault {
        case .serve:
            let driver = WebSocketDriver(role: .server, settings: settings, handler: nil, loop: loop)
            // A closure cannot take the socket over: its number travels, from one owner to the next.
            let number = socket.release().release()
            driver.assumeIsolated { $0.beginServing(descriptor: number, tls, accept) }
        case .reset:
            socket.abort()
        case .close:
            socket.shutdownWrite()
            held.append(HeldSocket(socket))
        case .hold:
            held.append(HeldSocket(socket))
        case .say(let bytes):
            _ = try? bytes.withUnsafeBytes { (bytes) throws(SystemError) in try socket.write(bytes) }
            socket.shutdownWrite()
            held.append(HeldSocket(socket))
        }
    }
}

extension ListenerDriver: ReadinessHandler {
    nonisolated func ready(_ readiness: Readiness) {
        assumeIsolated { $0.acceptAll() }
    }
}

/// A socket that is kept open and left alone.
private final class HeldSocket {
    private let socket: TCPSocket

    init(_ socket: consuming TCPSocket) {
        self.socket = socket
    }
}

extension WebSocketListener {
    package static func listen(
        host: String = "127.0.0.1", port: UInt16 = 0, options: Options = Options(),
        faults: (@Sendable (_ connection: Int) -> AcceptFault)?,
        accept: @escaping @Sendable (Request) -> Answer
    ) async throws(WebSocketError) -> WebSocketListener {
        guard let address = SocketAddress.literal(host, port) else {
            throw WebSocketError(.misuse, "a listener's host is an IP address of this machine, not '\(host)'")
        }
        var tls: TLSContext?
        if let identity = options.identity {
            do throws(TLSError) {
                tls = try TLSContext.server(
                    certificateChainPEM: identity.certificateChainPEM, privateKeyPEM: identity.privateKeyPEM)
            } catch {
                throw WebSocketError(error, phase: .securing)
            }
        }
        do throws(SystemError) {
            let socket = try ListeningSocket.bind(address)
            let port = socket.address.port ?? port
            let driver = ListenerDriver(
                socket, ConnectionSettings(options.connection), tls, loop: .shared, faults: faults,
                accept: accept)
            try await driver.start()
            return WebSocketListener(port: port, driver: driver)
        } catch {
            throw WebSocketError(error, phase: .connecting)
        }
    }
}
