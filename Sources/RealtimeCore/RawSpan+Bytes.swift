extension RawSpan {
    /// The byte at an offset that the caller has checked against `byteCount`. Traps outside, like any subscript.
    subscript(_ offset: Int) -> UInt8 {
        unsafeLoadByte(offset)
    }

    private func unsafeLoadByte(_ offset: Int) -> UInt8 {
        precondition(offset >= 0 && offset < byteCount, "offset \(offset) outside of \(byteCount) bytes")
        // Sound: the offset was just checked, and every bit pattern is a UInt8.
        return unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
    }

    /// A copy of some bytes.
    package func copy(_ range: Range<Int>) -> [UInt8] {
        let part = extracting(range)
        return [UInt8](unsafeUninitializedCapacity: part.byteCount) { buffer, count in
            part.withUnsafeBytes { source in
                UnsafeMutableRawBufferPointer(buffer).copyMemory(from: source)
            }
            count = part.byteCount
        }
    }

    /// True when the bytes of the range are exactly this text.
    func matches(_ text: String, in range: Range<Int>) -> Bool {
        guard range.count == text.utf8.count else { return false }
        var offset = range.lowerBound
        for byte in text.utf8 {
            guard self[offset] == byte else { return false }
            offset += 1
        }
        return true
    }
}
