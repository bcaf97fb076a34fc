internal import CSystemShims
import SystemIO

/// Whom a client means to reach, as certificates and SNI know it: without brackets, zone and trailing dot.
enum PeerName: Equatable {
    case name(String)
    case address(String)

    /// - Throws: `.configuration` for what no certificate can name.
    init(_ host: String) throws(TLSError) {
        var text = Substring(host)
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        // A zone names a link of this machine, which means nothing to the server (RFC 6874 §1).
        if text.contains(":"), let zone = text.firstIndex(of: "%") { text = text[..<zone] }
        // RFC 6066 §3: the name is told without a trailing dot.
        if text.hasSuffix(".") { text = text.dropLast() }
        switch SocketAddress.literal(String(text), 0) {
        case .v4(let address, _): self = .address(address.description)
        case .v6(let address, _, _): self = .address(address.description)
        case .unix, nil:
            // OpenSSL reads an empty name as "any", a leading dot as "any below", and stops at a zero byte.
            guard Self.isName(text) else {
                throw TLSError(
                    .configuration,
                    "'\(Self.shown(host))' cannot be a server's name: it takes letters, digits, hyphens and dots, "
                        + "no port, and other scripts in their xn-- form; see tls.serverName")
            }
            self = .name(String(text))
        }
    }

    /// For messages.
    var text: String {
        switch self {
        case .name(let text), .address(let text): text
        }
    }

    /// Sets whom the certificate must name, and tells a name to the server.
    func expect(on ssl: OpaquePointer) -> Bool {
        switch self {
        case .address(let text):
            return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), text) == 1
        case .name(let text):
            // A wildcard stands for one whole label, and a common name counts for nothing (RFC 9525 §6.3).
            let flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
            SSL_set_hostflags(ssl, UInt32(flags))
            return SSL_set1_host(ssl, text) == 1 && shim_set_host_name(ssl, text) == 1
        }
    }

    private static func isName(_ text: Substring) -> Bool {
        text.utf8.count <= 253
            && text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy {
                label in
                (1...63).contains(label.count)
                    && label.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                            true
                        default: false
                        }
                    }
            }
    }

    private static func shown(_ host: String) -> String {
        host.unicodeScalars.prefix(80).reduce(into: "") { $0 += $1.escaped(asASCII: false) }
    }
}
