/// The bytes of one record that is encrypted and waits for the kernel, known by their hash: OpenSSL will send them, whatever
/// it is offered next.
struct CommittedBytes {
    /// How many at the start of what was offered: what fits into one record (RFC 8446 §5.1).
    let count: Int
    private let hash: Int

    init(_ bytes: UnsafeRawBufferPointer) {
        count = min(bytes.count, 1 << 14)
        hash = Self.hash(bytes, count)
    }

    /// Whether `bytes` begin with these.
    func begin(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= count && Self.hash(bytes, count) == hash
    }

    private static func hash(_ bytes: UnsafeRawBufferPointer, _ count: Int) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        return hasher.finalize()
    }
}
