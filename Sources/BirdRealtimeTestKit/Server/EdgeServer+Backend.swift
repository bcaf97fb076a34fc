internal import SystemIO

/// The auth backend's port: requests come, faults have their turn, answers go.
extension EdgeServer {
    func acceptBackend() {
        while let socket = backendPort?.accept() {
            backendAccepted += 1
            do {
                let stream = try EdgeStream(socket, tls: security?.context, loop: Self.loop)
                let session = BackendSession(backendAccepted, stream, self)
                stream.owner = session
                backendSessions[backendAccepted] = session
                try stream.start()
            } catch {
                backendSessions[backendAccepted] = nil
            }
        }
    }

    func backendEnded(_ number: Int) {
        backendSessions[number] = nil
        let gone = heldAuth.filter { $0.session == number }
        heldAuth.removeAll { $0.session == number }
        for held in gone { log(held.request, status: 0) }
    }

    func backendReceived(_ request: HTTPRequest, from number: Int) {
        switch AuthBackend.task(of: request) {
        case .refuse(let answer): backendSessions[number]?.answer(answer)
        case .publish(let publication):
            let receivers: Int
            switch publication.receiver {
            case .channel(let channel):
                receivers = publish(
                    channel: channel, event: publication.event, data: publication.data,
                    except: publication.exceptConnectionID)
            case .member(let member):
                receivers = publish(toMember: member, event: publication.event, data: publication.data)
            }
            backendSessions[number]?.answer(.json(#"{"receivers":\#(receivers)}"#))
        case .authorize(let request):
            book.write(.authRequested(request))
            authorize(request, number, script.authFault(forChannel: request.channel))
        }
    }

    private func authorize(
        _ request: LoopbackEdge.AuthRequest, _ number: Int, _ fault: LoopbackEdge.AuthFault?
    ) {
        guard let session = backendSessions[number] else { return log(request, status: 0) }
        switch fault {
        case nil: answer(request, number, backend.answer(to: request))
        case .status(let status, let type, let body):
            let headers = [(name: "content-type", value: type)]
            answer(request, number, HTTPAnswer(status: status, headers: headers, body: body))
        case .html:
            let headers = [(name: "content-type", value: "text/html")]
            let page = "<!doctype html><title>Log in</title><form>Log in</form>"
            answer(request, number, HTTPAnswer(status: 200, headers: headers, body: page))
        case .held: heldAuth.append((number, request))
        case .slow(let wait):
            Self.loop.schedule(at: .now.advanced(by: wait)) { [weak self] in
                self?.assumeIsolated { $0.authorize(request, number, nil) }
            }
        case .reset:
            log(request, status: 0)
            session.stream.reset()
        case .truncated:
            let whole = backend.answer(to: request)
            log(request, status: whole.status, "truncated")
            session.truncate(whole)
        case .wrongSignature: answer(request, number, backend.answer(to: request, forged: true))
        case .missingAuth: answer(request, number, .json(#"{"message":"nothing signed here"}"#))
        }
    }

    func releaseAuth() -> Int {
        let held = exchange(&heldAuth, with: [])
        for (number, request) in held { authorize(request, number, nil) }
        return held.count
    }

    /// Logged first: who waits for the log and then acts finds the answer on its way.
    private func answer(_ request: LoopbackEdge.AuthRequest, _ number: Int, _ answer: HTTPAnswer) {
        log(request, status: answer.status, answer.body)
        backendSessions[number]?.answer(answer)
    }

    private func log(_ request: LoopbackEdge.AuthRequest, status: Int, _ answer: String = "") {
        book.write(.auth(LoopbackEdge.AuthExchange(request: request, status: status, answer: answer)))
    }
}
