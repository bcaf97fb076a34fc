internal import CSystemShims
internal import Glibc
import SystemIO

/// OpenSSL's way to a socket. Its own socket BIO writes with write(2), which raises SIGPIPE; this one never does.
enum SocketBIO {
    /// What one BIO knows. It lives from `make` until OpenSSL destroys the BIO.
    struct State {
        let descriptor: Int32
        var hasEnded = false
        /// The error of the last call that failed for good; 0 for none.
        var error: Int32 = 0
    }

    typealias StatePointer = UnsafeMutablePointer<State>

    /// A BIO over a descriptor that outlives it.
    static func make(_ descriptor: Int32) -> (bio: OpaquePointer, state: StatePointer)? {
        guard let method = method.pointer, let bio = BIO_new(method) else { return nil }
        let state = StatePointer.allocate(capacity: 1)
        state.initialize(to: State(descriptor: descriptor))
        BIO_set_data(bio, state)
        BIO_set_init(bio, 1)
        return (bio, state)
    }

    // Made once and never changed or freed; OpenSSL only reads it.
    private static let method = Method()

    private struct Method: @unchecked Sendable {
        let pointer: OpaquePointer?

        init() {
            pointer = BIO_meth_new(
                BIO_get_new_index() | Int32(BIO_TYPE_SOURCE_SINK), "socket without signals")
            guard let pointer else { return }
            BIO_meth_set_write(pointer, SocketBIO.write)
            BIO_meth_set_read(pointer, SocketBIO.read)
            BIO_meth_set_ctrl(pointer, SocketBIO.control)
            BIO_meth_set_destroy(pointer, SocketBIO.destroy)
        }
    }

    private static let retryFlags = Int32(
        BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_IO_SPECIAL | BIO_FLAGS_SHOULD_RETRY)

    private static let write: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, Int32) -> Int32 = {
        bio, bytes, count in
        guard let bio, let state = state(of: bio) else { return -1 }
        BIO_clear_flags(bio, retryFlags)
        let written = retryingInterrupts {
            send(state.pointee.descriptor, bytes, Int(count), Int32(MSG_NOSIGNAL))
        }
        if written < 0 { note(errno, bio, state, Int32(BIO_FLAGS_WRITE)) }
        return Int32(written)
    }

    private static let read: @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, Int32) -> Int32 = {
        bio, bytes, count in
        guard let bio, let state = state(of: bio) else { return -1 }
        BIO_clear_flags(bio, retryFlags)
        let taken = retryingInterrupts { recv(state.pointee.descriptor, bytes, Int(count), 0) }
        if taken == 0 { state.pointee.hasEnded = true }
        if taken < 0 { note(errno, bio, state, Int32(BIO_FLAGS_READ)) }
        return Int32(taken)
    }

    private static let control: @convention(c) (OpaquePointer?, Int32, Int, UnsafeMutableRawPointer?) -> Int =
        {
            bio, command, _, _ in
            switch command {
            case BIO_CTRL_FLUSH: return 1
            case BIO_CTRL_EOF:
                // OpenSSL tells an end from an error by this.
                guard let bio, let state = state(of: bio) else { return 1 }
                return state.pointee.hasEnded ? 1 : 0
            default: return 0
            }
        }

    private static let destroy: @convention(c) (OpaquePointer?) -> Int32 = { bio in
        guard let bio, let state = state(of: bio) else { return 0 }
        BIO_set_data(bio, nil)
        state.deinitialize(count: 1)
        state.deallocate()
        return 1
    }

    private static func state(of bio: OpaquePointer) -> StatePointer? {
        BIO_get_data(bio)?.assumingMemoryBound(to: State.self)
    }

    private static func note(_ error: Int32, _ bio: OpaquePointer, _ state: StatePointer, _ direction: Int32)
    {
        if error == EAGAIN || error == EWOULDBLOCK {
            BIO_set_flags(bio, direction | Int32(BIO_FLAGS_SHOULD_RETRY))
        } else {
            state.pointee.error = error
        }
    }

    private static func retryingInterrupts(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result != -1 || errno != EINTR { return result }
        }
    }
}
