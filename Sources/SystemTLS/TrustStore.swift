internal import CSystemShims
internal import Glibc
import SystemIO

/// Puts the authorities that a client trusts into its context.
enum TrustStore {
    static func load(_ trust: TLSOptions.Trust, into context: OpaquePointer) throws(TLSError) {
        ErrorQueue.clear()
        let store = SSL_CTX_get_cert_store(context)
        switch trust {
        case .system:
            guard SSL_CTX_set_default_verify_paths(context) == 1 else {
                throw TLSError(
                    .configuration,
                    "the system's certificate authorities cannot be loaded: \(ErrorQueue.words())")
            }
            return
        case .file(let path):
            guard SSL_CTX_load_verify_file(context, path) == 1 else {
                throw TLSError(
                    .configuration,
                    "tls.trust: the file \(path) cannot be loaded as PEM: \(ErrorQueue.words())")
            }
        case .directory(let path):
            try loadDirectory(path, into: context)
        case .pem(let text):
            for certificate in try Certificate.all(inPEM: text, of: "tls.trust") {
                _ = certificate.withPointer { X509_STORE_add_cert(store, $0) }
            }
        }
        // Who is named is trusted, be it an intermediate authority or one server: its issuer need not be known.
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
    }

    private static func loadDirectory(_ path: String, into context: OpaquePointer) throws(TLSError) {
        guard let names = fileNames(in: path) else {
            let error = SystemError(errno: errno, operation: "tls.trust: read the directory \(path)")
            throw TLSError(.configuration, error.description)
        }
        if names.contains(where: isHash) {
            guard SSL_CTX_load_verify_dir(context, path) == 1 else {
                throw TLSError(
                    .configuration,
                    "tls.trust: the directory \(path) cannot be used: \(ErrorQueue.words())")
            }
            return
        }
        let loaded = names.sorted().count { name in
            isCertificateFile(name) && SSL_CTX_load_verify_file(context, "\(path)/\(name)") == 1
        }
        ErrorQueue.clear()
        guard loaded > 0 else {
            throw TLSError(
                .configuration,
                "tls.trust: the directory \(path) holds no certificate: neither a file named by hash "
                    + "(openssl rehash) nor a PEM file that ends in .pem, .crt or .cer")
        }
    }

    /// Whether the system trusts nobody, as in small container images: no connection can be verified then.
    static var isSystemEmpty: Bool {
        isEmpty(
            file: path(X509_get_default_cert_file_env(), X509_get_default_cert_file()),
            directory: path(X509_get_default_cert_dir_env(), X509_get_default_cert_dir()))
    }

    static func isEmpty(file: String, directory: String) -> Bool {
        access(file, R_OK) != 0 && fileNames(in: directory)?.contains(where: isHash) != true
    }

    /// Where OpenSSL looks: the variable's value, or what it was built with.
    private static func path(_ variable: UnsafePointer<CChar>, _ builtIn: UnsafePointer<CChar>) -> String {
        String(cString: getenv(variable) ?? UnsafeMutablePointer(mutating: builtIn))
    }

    /// `9d66eef0.0`, as `openssl rehash` names links to certificates.
    private static func isHash(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        return bytes.count > 9 && bytes[8] == UInt8(ascii: ".")
            && bytes[..<8].allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
            && bytes[9...].allSatisfy { (0x30...0x39).contains($0) }
    }

    private static func isCertificateFile(_ name: String) -> Bool {
        [".pem", ".crt", ".cer"].contains { name.hasSuffix($0) }
    }

    /// Nil when the directory cannot be read; `errno` says why.
    private static func fileNames(in path: String) -> [String]? {
        guard let directory = opendir(path) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            // d_name is a tuple of 256 characters, ended by a zero.
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
        }
        return names
    }
}
