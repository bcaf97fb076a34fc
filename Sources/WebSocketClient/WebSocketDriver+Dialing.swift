import SystemIO
import SystemTLS
import WebSocketCore

extension WebSocketDriver {
    nonisolated func startDialing(_ url: String, _ options: WebSocketOptions) {
        loop.submit {
            self.assumeIsolated { $0.beginDial(.connect(url, options)) }
        }
    }

    /// The two ways to an open connection.
    enum Steps {
        case connect(String, WebSocketOptions)
        case serve(ListenerDriver.Accept)
    }

    /// Runs the steps up to the open connection under one deadline. It can be given up at any moment.
    func beginDial(_ steps: Steps) {
        guard case .idle = phase else { return }
        let dial = Dial()
        phase = .dialing(dial)
        dial.timer = schedule(after: settings.connectTimeout) { driver in
            guard case .dialing(let dial) = driver.phase else { return }
            dial.timer = nil
            let limit = driver.settings.connectTimeout
            let words = "not connected within connectTimeout, \(limit): it ran out in \(dial.phase.rawValue)"
            dial.cancel(WebSocketError(.timeout, words, phase: dial.phase))
        }
        dial.task = Task {
            do throws(WebSocketError) {
                switch steps {
                case .connect(let url, let options): try await connect(url, options, dial)
                case .serve(let accept): try await serve(dial, accept)
                }
            } catch {
                // A refusal whose body never ends is a refusal, also when the time for it runs out.
                let isRefusal = error.kind == .refused && dial.failure?.kind == .timeout
                end(isRefusal ? error : dial.failure ?? error)
            }
            disarm(dial)
        }
    }

    private func disarm(_ dial: Dial) {
        if let timer = dial.timer.take() { loop.cancel(timer) }
        dial.task = nil
    }

    /// Name lookup, TCP, TLS, upgrade.
    private func connect(_ text: String, _ options: WebSocketOptions, _ dial: Dial)
        async throws(WebSocketError)
    {
        let url = try WebSocketURL(text)
        let request = ClientHandshake.Request(
            host: url.hostField, target: url.target, fields: options.headers,
            subprotocols: options.subprotocols,
            deflate: options.deflate)
        var handshake: ClientHandshake
        do throws(HandshakeMisuse) {
            handshake = try ClientHandshake(request, key: randomBytes(16), limits: options.limits)
        } catch {
            throw WebSocketError(.misuse, error.message)
        }
        let addresses: [SocketAddress]
        do throws(ResolveError) {
            addresses = try await options.resolver.resolve(url.host, url.port)
        } catch {
            throw WebSocketError(.transport, error.description, phase: .resolving)
        }
        dial.phase = .connecting
        var transport = try await connectTransport(addresses, url, dial, options.tls)
        dial.phase = .upgrading
        try await write(handshake.requestBytes, to: &transport, dial)
        while true {
            let buffer = loop.readBuffer
            var outcome: ReadOutcome
            do throws(WebSocketError) {
                outcome = try transport.read(into: buffer)
            } catch {
                if handshake.isReadingRefusal {
                    throw WebSocketError(handshake.transportEnded(), host: url.place)
                }
                throw error
            }
            switch outcome {
            case .bytes(let count):
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                var offset = 0
                let agreed: ClientHandshake.Agreement?
                do throws(UpgradeError) {
                    agreed = try handshake.receive(bytes, at: &offset)
                } catch {
                    throw WebSocketError(error, host: url.place)
                }
                guard let agreed else { continue }
                if let failure = dial.failure { throw failure }
                let agreement = WebSocketAgreement(
                    subprotocol: agreed.subprotocol, extensions: agreed.extensions, fields: agreed.fields,
                    tlsVersion: transport.tlsVersion)
                // No suspension from the read to here: what is glued to the answer still lies in the loop's buffer.
                self.transport = consume transport
                open(
                    deflate: agreed.deflate, agreement,
                    glued: UnsafeRawBufferPointer(rebasing: bytes[offset...]))
                return
            case .wouldBlock(let interest):
                do throws(WebSocketError) {
                    try await wait(for: interest, transport.rawValue, .upgrading)
                } catch {
                    if handshake.isReadingRefusal {
                        throw WebSocketError(handshake.transportEnded(), host: url.place)
                    }
                    throw error
                }
            case .end:
                throw WebSocketError(handshake.transportEnded(), host: url.place)
            }
        }
    }

    private func connectTransport(
        _ addresses: [SocketAddress], _ url: WebSocketURL, _ dial: Dial, _ options: TLSOptions
    ) async throws(WebSocketError) -> Transport {
        // Before the socket: a CA file that is not there should not cost the server a connection.
        var context: TLSContext?
        if url.isSecure {
            do throws(TLSError) {
                context = try await TLSContexts.client(options)
            } catch {
                throw WebSocketError(error, phase: .securing)
            }
        }
        let socket: TCPSocket
        do throws(ConnectError) {
            socket = try await connectTCP(to: addresses, on: loop)
        } catch {
            var failure = WebSocketError(.transport, error.description, phase: .connecting)
            if case .failed(let errors) = error { failure.systemError = errors.last }
            throw failure
        }
        guard let context else { return .plain(socket) }
        dial.phase = .securing
        var stream: TLSStream
        do throws(TLSError) {
            stream = try TLSStream(client: context, socket: socket, host: url.host)
        } catch {
            throw WebSocketError(error, phase: .securing)
        }
        try await secure(&stream)
        return .secure(stream)
    }

    func secure(_ stream: inout TLSStream) async throws(WebSocketError) {
        while true {
            let progress: HandshakeProgress
            do throws(TLSError) {
                progress = try stream.handshake()
            } catch {
                throw WebSocketError(error, phase: .securing)
            }
            guard case .wants(let interest) = progress else { return }
            try await wait(for: interest, stream.rawValue, .securing)
        }
    }

    func write(_ bytes: [UInt8], to transport: inout Transport, _ dial: Dial) async throws(WebSocketError) {
        var written = 0
        while written < bytes.count {
            let outcome = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(WebSocketError) in
                try transport.write(UnsafeRawBufferPointer(rebasing: bytes[written...]))
            }
            switch outcome {
            case .bytes(let count): written += count
            case .wouldBlock(let interest): try await wait(for: interest, transport.rawValue, dial.phase)
            }
        }
    }

    func wait(
        for interest: Interest, _ descriptor: Int32, _ step: WebSocketError.Phase
    ) async throws(WebSocketError) {
        do throws(WaitFailure) {
            _ = try await loop.waitUntilReady(descriptor, interest)
        } catch {
            switch error {
            case .cancelled: throw .cancelled
            case .failed(let system): throw WebSocketError(system, phase: step)
            }
        }
    }
}
