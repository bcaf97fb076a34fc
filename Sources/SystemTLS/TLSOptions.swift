/// How a client secures its connections. The defaults are right for servers on the internet; the peer is always verified.
public struct TLSOptions: Sendable, Equatable {
    /// Whose signature makes a server's certificate trusted.
    public enum Trust: Sendable, Equatable {
        /// The certificate authorities the system trusts.
        case system
        /// The authorities of a PEM file, and no others.
        case file(String)
        /// The authorities of a directory, and no others.
        ///
        /// Where `openssl rehash` has named its files by hash, they are looked up when needed. Otherwise every file that
        /// ends in `.pem`, `.crt` or `.cer` is read at once; those without a certificate are passed over.
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
    /// The name asked for (SNI) and looked for in the certificate, where it is not the URL's host. An IP address is looked
    /// for in the certificate and not asked for.
    public var serverName: String?
    /// Default TLS 1.2, the oldest there is here.
    public var minimumVersion = Version.tls12
    /// Default TLS 1.3.
    public var maximumVersion = Version.tls13
    /// Who this client is, for servers that ask. Default: nobody.
    public var clientCertificate: ClientCertificate?

    /// The defaults.
    public init() {}
}

extension TLSOptions {
    /// A certificate and its key, with which a client shows who it is (mutual TLS).
    public struct ClientCertificate: Sendable, Equatable {
        /// The client's certificate as PEM text, followed by those that lead to an authority the server trusts.
        public var certificateChainPEM: String
        /// The key that belongs to the first certificate, as PEM text without a passphrase.
        public var privateKeyPEM: String

        /// A certificate and its key.
        public init(certificateChainPEM: String, privateKeyPEM: String) {
            self.certificateChainPEM = certificateChainPEM
            self.privateKeyPEM = privateKeyPEM
        }
    }
}

// Options get logged; a private key must not.
extension TLSOptions.ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Names the type, without the key.
    public var description: String { "ClientCertificate(private key not shown)" }
    /// Names the type, without the key.
    public var debugDescription: String { description }
    /// The certificates alone.
    public var customMirror: Mirror { Mirror(self, children: ["certificateChainPEM": certificateChainPEM]) }
}
