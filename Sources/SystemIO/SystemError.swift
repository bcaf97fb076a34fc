internal import Glibc

/// A system call that failed: its error number and what was being done, for example
/// `connect to 127.0.0.1:80: Connection refused`.
public struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The value of `errno`, such as `ECONNREFUSED`.
    public let errno: Int32
    /// What was being done, naming the address or the descriptor's role.
    public let operation: String

    /// An error with a given number.
    package init(errno: Int32, operation: String) {
        self.errno = errno
        self.operation = operation
    }

    /// The error of the call that has just failed on this thread.
    package static func current(_ operation: @autoclosure () -> String) -> SystemError {
        let number = Glibc.errno  // read before anything else can change it
        return SystemError(errno: number, operation: operation())
    }

    /// The error number in words, such as `Connection refused`.
    public var reason: String {
        // strerror_r writes into our own buffer: strerror's is shared between threads.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress else { return "error \(errno)" }
            buffer.initialize(repeating: 0)
            guard strerror_r(errno, base, 255) == 0 else { return "error \(errno)" }
            return String(cString: base)
        }
    }

    /// The operation and the reason.
    public var description: String { "\(operation): \(reason)" }

    /// The process or the machine has no descriptors or memory left: waiting helps, trying again at once does not.
    package var isExhaustion: Bool {
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM
    }
}

/// Runs a system call again for as long as a signal interrupts it.
@inline(__always)
func retryingInterrupts(_ call: () -> Int) -> Int {
    while true {
        let result = call()
        if result != -1 || Glibc.errno != EINTR { return result }
    }
}

@inline(__always)
func retryingInterrupts(_ call: () -> Int32) -> Int32 {
    while true {
        let result = call()
        if result != -1 || Glibc.errno != EINTR { return result }
    }
}
