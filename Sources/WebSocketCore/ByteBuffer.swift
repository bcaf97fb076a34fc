/// Bytes in a queue: added at the end, taken from the front. One allocation, grown by doubling.
///
/// It serves as a connection's write buffer and as the place where a message is put together.
package struct ByteBuffer: ~Copyable {
    // The pointer never leaves this file but through the scoped `with…` methods; start...end is what is filled.
    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    private var start = 0
    private var end = 0
    /// The most it will ever hold, if that is known.
    private let ceiling: Int

    package init(ceiling: Int = .max) {
        self.ceiling = ceiling
    }

    deinit {
        base?.deallocate()
    }

    package var count: Int { end - start }
    package var isEmpty: Bool { end == start }
    package var allocatedByteCount: Int { capacity }

    /// Makes room for `count` more bytes behind what is there.
    package mutating func reserve(_ count: Int) {
        if capacity - end >= count { return }
        let used = end - start
        if let base, capacity - used >= count, start >= used {
            base.copyMemory(from: base + start, byteCount: used)
        } else {
            let room = grownCapacity(for: used + count)
            let grown = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: 16)
            if let base {
                grown.copyMemory(from: base + start, byteCount: used)
                base.deallocate()
            }
            base = grown
            capacity = room
        }
        start = 0
        end = used
    }

    /// Doubling, in steps of 8 MiB at most. Towards a ceiling the last step goes from half of it to all of it: while
    /// the bytes move, old and new memory in use stay below the ceiling together.
    private func grownCapacity(for needed: Int) -> Int {
        guard ceiling < .max else { return max(needed, min(capacity * 2, capacity + (8 << 20)), 256) }
        let doubled = max(needed, capacity * 2, 256)
        return doubled > ceiling / 2 ? max(needed, ceiling) : doubled
    }

    package mutating func append(_ byte: UInt8) {
        reserve(1)
        base?.storeBytes(of: byte, toByteOffset: end, as: UInt8.self)
        end += 1
    }

    package mutating func append(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { append($0) }
    }

    package mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, !bytes.isEmpty else { return }
        reserve(bytes.count)
        (base.unsafelyUnwrapped + end).copyMemory(from: source, byteCount: bytes.count)
        end += bytes.count
    }

    /// Lets `body` write up to `count` bytes behind what is there; it answers how many it wrote.
    package mutating func append<Failure: Error>(
        upTo count: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        guard count > 0 else { return }
        reserve(count)
        let room = UnsafeMutableRawBufferPointer(start: base.unsafelyUnwrapped + end, count: count)
        let written = try body(room)
        precondition(written >= 0 && written <= count, "wrote \(written) bytes into room for \(count)")
        end += written
    }

    package func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: base.map { $0 + start }, count: count))
    }

    package mutating func withUnsafeMutableBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeMutableRawBufferPointer(start: base.map { $0 + start }, count: count))
    }

    /// Takes `count` bytes from the front.
    package mutating func consume(_ count: Int) {
        precondition(count >= 0 && count <= self.count, "took \(count) of \(self.count) bytes")
        start += count
        if start == end { start = 0; end = 0 }
    }

    /// Puts bytes between those that are there, `offset` bytes from the front.
    package mutating func insert(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        precondition(offset >= 0 && offset <= count, "inserted at \(offset) of \(count) bytes")
        guard let source = bytes.baseAddress, !bytes.isEmpty else { return }
        reserve(bytes.count)
        let place = base.unsafelyUnwrapped + start + offset
        (place + bytes.count).copyMemory(from: place, byteCount: count - offset)
        place.copyMemory(from: source, byteCount: bytes.count)
        end += bytes.count
    }

    /// Forgets everything behind the first `count` bytes.
    package mutating func truncate(to count: Int) {
        precondition(count >= 0 && count <= self.count)
        end = start + count
    }

    /// Empties the buffer; its memory stays when it is no larger than `keeping` bytes.
    package mutating func removeAll(keeping: Int = 0) {
        start = 0
        end = 0
        if capacity > keeping {
            base?.deallocate()
            base = nil
            capacity = 0
        }
    }

    package func copied() -> [UInt8] {
        withUnsafeBytes { Array($0) }
    }
}
