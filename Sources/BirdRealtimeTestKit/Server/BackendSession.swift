/// One HTTP connection to the auth backend: answers its requests one after the other. Lives on the edge's loop.
final class BackendSession: EdgeStreamOwner {
    let number: Int
    let stream: EdgeStream
    /// nil while the server tears down in its deinit.
    private weak var server: EdgeServer?
    private var parser = HTTPRequestParser()
    private var isAnswering = false
    private var keepsAlive = true

    init(_ number: Int, _ stream: EdgeStream, _ server: EdgeServer) {
        self.number = number
        self.stream = stream
        self.server = server
    }

    func streamOpened() {}

    func streamReceived(_ bytes: UnsafeRawBufferPointer) {
        parser.append(bytes)
        takeNext()
    }

    func streamEnded(_ end: EdgeStream.End) {
        server?.assumeIsolated { [number] in $0.backendEnded(number) }
    }

    /// Answers the current request and takes the next one.
    func answer(_ answer: HTTPAnswer) {
        guard isAnswering else { return }
        stream.send(answer.bytes(closes: !keepsAlive))
        guard keepsAlive else { return stream.whenDrained { [stream] in stream.close() } }
        isAnswering = false
        takeNext()
    }

    /// The head and half of the body, then the end.
    func truncate(_ answer: HTTPAnswer) {
        let bytes = answer.bytes(closes: true)
        stream.send(bytes.prefix(bytes.count - (answer.body.utf8.count + 1) / 2))
        stream.whenDrained { [stream] in stream.close() }
    }

    private func takeNext() {
        guard !isAnswering else { return }
        do throws(HTTPRequestParser.Refusal) {
            guard let request = try parser.next() else { return }
            isAnswering = true
            keepsAlive = request.keepsAlive
            server?.assumeIsolated { [number] in $0.backendReceived(request, from: number) }
        } catch {
            stream.send(HTTPAnswer.text(error.status, error.message).bytes(closes: true))
            stream.whenDrained { [stream] in stream.close() }
        }
    }
}
