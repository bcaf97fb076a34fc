/// What no decent peer does: for tests of how others take it.
extension WebSocketHandle {
    /// Ends TCP without a close frame: FIN, and over TLS not even close_notify.
    package func cut() {
        driver.perform { driver in
            driver.flush()
            driver.transport?.cutWrite()
        }
    }

    /// Reads and writes nothing more, and leaves the connection open: a black hole.
    package func stall() {
        driver.perform { driver in
            driver.isStalled = true
            driver.updateInterest()
        }
    }

    /// Answers no pings from now on.
    package func ignorePings() {
        driver.perform { $0.wire.connection.answersPings = false }
    }

    /// Writes bytes as they are, in place of frames.
    package func writeRaw(_ bytes: [UInt8]) {
        driver.perform { driver in
            driver.flush()
            driver.writeRaw(bytes)
        }
    }
}

extension WebSocketDriver {
    /// Bypasses the outbox, which must hold whole frames; what the kernel does not take at once is lost.
    func writeRaw(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in _ = try? transport?.write(bytes) }
    }
}
