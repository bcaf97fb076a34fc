internal import CSystemShims
internal import Glibc

/// Owns one file descriptor and closes it when it goes out of scope.
package struct Descriptor: ~Copyable, Sendable {
    /// The number; valid for as long as this value lives.
    package let rawValue: Int32

    /// Takes over a descriptor that nothing else will close.
    package init(owning rawValue: Int32) { self.rawValue = rawValue }

    /// Gives the number away: the caller closes it from now on.
    package consuming func release() -> Int32 {
        let rawValue = rawValue
        discard self
        return rawValue
    }

    deinit {
        // On Linux the number is free again even when close() reports EINTR: never call it twice.
        close(rawValue)
    }
}

extension Descriptor {
    /// Takes a call's result over, or throws what the call left in `errno`.
    package init(checking result: Int32, _ operation: @autoclosure () -> String) throws(SystemError) {
        guard result >= 0 else { throw .current(operation()) }
        self.init(owning: result)
    }

    func setNonBlocking() throws(SystemError) {
        let flags = shim_fcntl_get(rawValue, F_GETFL)
        guard flags >= 0, shim_fcntl_set(rawValue, F_SETFL, flags | O_NONBLOCK) == 0 else {
            throw .current("make a descriptor non-blocking")
        }
    }
}
