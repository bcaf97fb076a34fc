import Glibc
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(2))) struct TCPSocketTests {
    @Test("bytes go both ways, each end knows both addresses")
    func echo() async throws {
        try await withConnection { client, server, loop in
            #expect(client.peerAddress == server.localAddress)
            #expect(client.localAddress == server.peerAddress)
            #expect(try server.get().outcome == .wouldBlock(.read))
            try client.put("hello")
            _ = try await loop.waitUntilReady(server.rawValue, .read)
            #expect(try server.get().text == "hello")
            try server.put("there")
            _ = try await loop.waitUntilReady(client.rawValue, .read)
            #expect(try client.get().text == "there")
        }
    }

    @Test("sockets do not block, are not inherited and do not wait to fill segments")
    func flags() async throws {
        try await withConnection { client, server, _ in
            for number in [client.rawValue, server.rawValue] {
                #expect(fcntl(number, F_GETFL) & O_NONBLOCK != 0)
                #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
                var isOn: Int32 = 0
                var length = socklen_t(4)
                getsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, &length)
                #expect(isOn != 0)
            }
        }
    }

    @Test("a full send buffer says what to wait for, and goes on when the peer reads")
    func backpressure() async throws {
        try await withConnection { client, server, loop in
            let chunk = [UInt8](repeating: 7, count: 1 << 16)
            var sent = 0
            var outcome = WriteOutcome.bytes(0)
            while case .bytes(let count) = outcome {
                sent += count
                outcome = try chunk.withUnsafeBytes { try client.write($0) }
            }
            #expect(outcome == .wouldBlock(.write))
            client.shutdownWrite()
            var received = 0
            var buffer = chunk
            while true {
                switch try buffer.withUnsafeMutableBytes({ try server.read(into: $0) }) {
                case .bytes(let count): received += count
                case .wouldBlock(let interest): _ = try await loop.waitUntilReady(server.rawValue, interest)
                case .end(let isClean):
                    #expect(isClean)
                    #expect(received == sent)
                    return
                }
            }
        }
    }

    @Test("after the end of one direction the other goes on")
    func halfClose() async throws {
        try await withConnection { client, server, loop in
            try client.put("last")
            client.shutdownWrite()
            _ = try await loop.waitUntilReady(server.rawValue, .read)
            #expect(try server.get().text == "last")
            _ = try await loop.waitUntilReady(server.rawValue, .read)
            #expect(try server.get().outcome == .end(isClean: true))
            try server.put("answer")
            _ = try await loop.waitUntilReady(client.rawValue, .read)
            #expect(try client.get().text == "answer")
        }
    }

    @Test("an abort reaches the peer as a reset, in words")
    func reset() async throws {
        try await withLoop { loop in
            let listener = try ListeningSocket.bind(.loopback())
            let client = try await connectTCP(to: [listener.address], on: loop)
            let server = try await accept(listener, loop)
            server.abort()
            _ = try await loop.waitUntilReady(client.rawValue, .read)
            do {
                _ = try client.get()
                Issue.record("no error")
            } catch let error as SystemError {
                #expect(error.errno == ECONNRESET)
                #expect(error.description.hasSuffix(": Connection reset by peer"))
            }
        }
    }

    @Test("F1: writing to a peer that has reset raises no SIGPIPE")
    func noSIGPIPE() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            try await withLoop { loop in
                let listener = try ListeningSocket.bind(.loopback())
                let client = try await connectTCP(to: [listener.address], on: loop)
                let server = try await accept(listener, loop)
                server.abort()
                _ = try await loop.waitUntilReady(client.rawValue, .read)
                var errors: [Int32] = []
                for _ in 0..<3 {
                    do { try client.put("x") } catch let error as SystemError { errors.append(error.errno) }
                }
                client.shutdownWrite()
                #expect(errors.count == 3 && errors.allSatisfy { $0 == ECONNRESET || $0 == EPIPE })
            }
        }
    }

    @Test("a pair carries bytes and sees its other end go")
    func pair() throws {
        var pair = try SocketPair()
        let near = pair.takeFirst()
        let far = pair.takeSecond()
        try near.put("x")
        #expect(try far.get().text == "x")
        near.shutdownWrite()
        #expect(try far.get().outcome == .end(isClean: true))
    }

    @Test("an empty buffer is no end of the stream")
    func emptyBuffer() throws {
        var pair = try SocketPair()
        let near = pair.takeFirst()
        let read = try near.read(into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
        #expect(read == .bytes(0))
        let written = try near.write(UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(written == .bytes(0))
    }
}
