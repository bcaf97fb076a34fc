import Glibc
import Synchronization
import SystemIO

/// What signals do in this process; for tests that run in one of their own.
enum Signals {
    private static let handled = Atomic<Int>(0)

    /// How often the handler of a storm ran.
    static var handledCount: Int { handled.load(ordering: .relaxed) }

    /// What SIGPIPE does; 0 is the system's own way, which ends the process.
    static var brokenPipeDisposition: UInt {
        var action = sigaction()
        sigaction(SIGPIPE, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
    }

    /// Whether a write on the loop's thread has raised SIGPIPE: blocked as it is there, it stays pending.
    static func loopHasBrokenPipe() async -> Bool {
        await EventLoop.shared.run {
            var pending = sigset_t()
            sigpending(&pending)
            return sigismember(&pending, SIGPIPE) == 1
        }
    }

    /// Interrupts the loop's thread with SIGUSR1 again and again until the task is cancelled.
    ///
    /// The loop's thread blocks signals, and nothing would interrupt it; here it is made to take this one. Without
    /// SA_RESTART every interrupted call returns EINTR.
    static func storm() async {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in
            _ = Signals.handled.add(1, ordering: .relaxed)
        }
        action.sa_flags = 0
        sigaction(SIGUSR1, &action, nil)
        let loop = await EventLoop.shared.run {
            var mask = sigset_t()
            sigemptyset(&mask)
            sigaddset(&mask, SIGUSR1)
            pthread_sigmask(SIG_UNBLOCK, &mask, nil)
            return UInt(pthread_self())
        }
        while !Task.isCancelled {
            pthread_kill(pthread_t(loop), SIGUSR1)
            try? await Task.sleep(for: .microseconds(200))
        }
    }
}
