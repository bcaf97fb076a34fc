internal import CSystemShims
internal import Glibc

/// Two connected stream sockets in this process, for tests.
package struct SocketPair: ~Copyable {
    package var first: TCPSocket?
    package var second: TCPSocket?
    package init() throws(SystemError) { fatalError() }
}
