import Glibc
import SystemIO

/// Another number for the same socket: one can be watched for reading and the other for writing.
func duplicate(_ descriptor: Int32) throws -> Int32 {
    let number = dup(descriptor)
    guard number >= 0 else { throw SystemError.current("duplicate a descriptor") }
    return number
}
