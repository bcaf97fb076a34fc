import Synchronization
import SystemTLS

/// Contexts that are shared by the connections of the process: the system's authorities are read once.
enum TLSContexts {
    private static let cached = Mutex<[(options: TLSOptions, context: TLSContext)]>([])

    /// A client's context. Off the loop's thread: reading certificates takes milliseconds.
    @concurrent
    static func client(_ options: TLSOptions) async throws(TLSError) -> TLSContext {
        // A file or a directory may change while the process runs, so those are read each time.
        switch options.trust {
        case .file, .directory: return try TLSContext.client(options)
        case .system, .pem: break
        }
        if let context = cached.withLock({ $0.first { $0.options == options }?.context }) { return context }
        let context = try TLSContext.client(options)
        cached.withLock { cached in
            if cached.count >= 8 { cached.removeFirst() }
            cached.append((options, context))
        }
        return context
    }
}
