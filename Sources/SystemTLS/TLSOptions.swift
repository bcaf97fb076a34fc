/// How a client secures its connections. The defaults are right for servers on the internet; the peer is always verified.
public struct TLSOptions: Sendable, Equatable {
    /// Whose signature makes a server's certificate trusted.
    public enum Trust: Sendable, Equatable {
        /// The certificate authorities the system trusts.
        case system
        /// The authorities of a PEM file, and no others.
        case file(String)
        /// The authorities of a directory of PEM files, named by hash as `openssl rehash` does it, and no others.
        case directory(String)
        /// The authorities of a PEM text, and no others.
        case pem(String)
    }

    /// A version of the protocol.
    public enum Version: Sendable, Comparable {
        case tls12
        case tls13
    }

    /// Default: the system's.
    public var trust = Trust.system
    /// The name asked for (SNI) and looked for in the certificate, where it is not the URL's host.
    public var serverName: String?
    /// Default TLS 1.2, the oldest there is here.
    public var minimumVersion = Version.tls12
    /// Default TLS 1.3.
    public var maximumVersion = Version.tls13

    /// The defaults.
    public init() {}
}
