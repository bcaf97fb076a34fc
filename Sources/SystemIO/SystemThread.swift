internal import CSystemShims
internal import Glibc

/// One POSIX thread that leaves the host's signals alone.
struct SystemThread: Sendable {
    private let handle: pthread_t

    /// Starts a thread. The name is cut to the 15 bytes that Linux keeps. Without `isDetached` someone must `join` it.
    init(
        name: String, stackBytes: Int? = nil, isDetached: Bool = false, _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if let stackBytes { pthread_attr_setstacksize(&attributes, stackBytes) }
        if isDetached { pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED)) }

        // The new thread inherits the mask, so it is never, not even at its start, one that runs a host's handler.
        var before = sigset_t()
        var blocked = Self.blockedSignals()
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        // Balanced by the thread's takeRetainedValue, or by the release below when there is no thread.
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var handle = pthread_t()
        let result = pthread_create(
            &handle, &attributes,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                _ = String(start.name.prefix(15)).withCString { shim_thread_name(pthread_self(), $0) }
                start.body()
                return nil
            }, start.toOpaque())
        guard result == 0 else {
            start.release()
            throw SystemError(errno: result, operation: "start the thread \(name)")
        }
        self.handle = handle
    }

    /// Waits for the thread's end; once at most.
    func join() {
        pthread_join(handle, nil)
    }

    /// The calling thread's identity, for comparison; never 0.
    @inline(__always)
    static var current: UInt { UInt(pthread_self()) }

    /// All signals but those that a fault of the thread itself raises: crash reporters need them where they happen.
    private static func blockedSignals() -> sigset_t {
        var signals = sigset_t()
        sigfillset(&signals)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] {
            sigdelset(&signals, fault)
        }
        return signals
    }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
