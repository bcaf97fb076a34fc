internal import CSystemShims

/// OpenSSL, started on first use: nothing calls it before.
enum OpenSSLStart {
    /// By default OpenSSL frees itself in exit(3), under the feet of threads that are in the middle of it. The process's
    /// end frees it as well. Without effect in a process that has started OpenSSL in its own way before.
    private static let once: Void = {
        OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }()

    @inline(__always)
    static func ensure() { once }
}
