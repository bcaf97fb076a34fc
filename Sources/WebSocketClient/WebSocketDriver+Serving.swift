import SystemIO
import SystemTLS
import WebSocketCore

extension WebSocketDriver {
    /// Takes an accepted socket through TLS and the client's handshake.
    func beginServing(
        descriptor: Int32, _ tls: TLSContext?,
        _ accept: @escaping @Sendable (WebSocketListener.Request) -> WebSocketListener.Answer
    ) {
        let socket = TCPSocket(owning: Descriptor(owning: descriptor))
        if let tls {
            do throws(TLSError) {
                transport = .secure(try TLSStream(server: tls, socket: socket))
            } catch {
                end(WebSocketError(error, phase: .securing))
                return
            }
        } else {
            transport = .plain(socket)
        }
        beginDial(.serve(accept))
    }

    func serve(
        _ dial: Dial, _ accept: @Sendable (WebSocketListener.Request) -> WebSocketListener.Answer
    ) async throws(WebSocketError) {
        guard var transport = self.transport.take() else { return }
        switch consume transport {
        case .plain(let socket): transport = .plain(socket)
        case .secure(var stream):
            dial.phase = .securing
            try await secure(&stream)
            transport = .secure(stream)
        }
        dial.phase = .upgrading
        var handshake = ServerHandshake(limits: settings.limits)
        while true {
            let buffer = loop.readBuffer
            switch try transport.read(into: buffer) {
            case .bytes(let count):
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                var offset = 0
                let request: ServerHandshake.Request?
                do throws(ServerRefusal) {
                    request = try handshake.receive(bytes, at: &offset)
                } catch {
                    return try await refuse(error, &transport, dial)
                }
                guard let request else { continue }
                // The answer may have to wait for the socket, so what is glued to the request is copied.
                let glued = Array(bytes[offset...])
                try await answer(request, accept, transport, dial, glued: glued)
                return
            case .wouldBlock(let interest):
                try await wait(for: interest, transport.rawValue, .upgrading)
            case .end:
                throw WebSocketError(
                    .transport, "the client left before its request was complete", phase: .upgrading)
            }
        }
    }

    private func answer(
        _ request: ServerHandshake.Request,
        _ accept: @Sendable (WebSocketListener.Request) -> WebSocketListener.Answer,
        _ taken: consuming Transport,
        _ dial: Dial, glued: [UInt8]
    ) async throws(WebSocketError) {
        var transport = taken
        let shown = WebSocketListener.Request(
            target: request.target, fields: request.fields, subprotocols: request.subprotocols,
            serverName: transport.serverName)
        switch accept(shown) {
        case .refuse(let status, let reason, let fields, let body):
            try await refuse(
                ServerRefusal(status: status, reason: reason, body: body, fields: fields), &transport, dial)
        case .accept(let handler, let subprotocol, let fields):
            let acceptance: ServerHandshake.Acceptance
            do throws(HandshakeMisuse) {
                acceptance = try ServerHandshake.accept(
                    request, subprotocol: subprotocol, deflate: settings.deflate, fields: fields)
            } catch {
                return try await refuse(
                    ServerRefusal(status: 500, reason: "Internal Server Error", body: error.message),
                    &transport, dial)
            }
            self.handler = handler
            try await write(acceptance.bytes, to: &transport, dial)
            if let failure = dial.failure { throw failure }
            let agreement = WebSocketAgreement(
                subprotocol: acceptance.subprotocol,
                extensions: acceptance.deflate.map { _ in DeflateParameters.name },
                fields: request.fields, tlsVersion: transport.tlsVersion)
            self.transport = consume transport
            glued.withUnsafeBytes { open(deflate: acceptance.deflate, agreement, glued: $0) }
        }
    }

    /// Answers with another status, and waits for the client to have read it.
    private func refuse(
        _ refusal: ServerRefusal, _ transport: inout Transport, _ dial: Dial
    ) async throws(WebSocketError) {
        try await write(refusal.bytes, to: &transport, dial)
        transport.shutdownWrite()
        while true {
            switch try transport.read(into: loop.readBuffer) {
            case .bytes: continue
            case .wouldBlock(let interest): try await wait(for: interest, transport.rawValue, .upgrading)
            case .end: throw WebSocketError(.refused, "refused with \(refusal.status)", phase: .upgrading)
            }
        }
    }
}
