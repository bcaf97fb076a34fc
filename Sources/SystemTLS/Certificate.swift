internal import CSystemShims
import SystemIO

/// One X509. Shared by reference count, freed with the last owner.
final class Certificate {
    private let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        X509_free(pointer)
    }

    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        body(pointer)
    }

    /// The certificates of a PEM text, at least one.
    static func all(inPEM text: String, of what: String) throws(TLSError) -> [Certificate] {
        var certificates: [Certificate] = []
        ErrorQueue.clear()
        withMemoryBIO(text) { bio in
            while let pointer = PEM_read_bio_X509(bio, nil, noPassphrase, nil) {
                certificates.append(Certificate(owning: pointer))
            }
        }
        // The end of the text is an error to the reader; any other one would drop the certificates behind it.
        let isAtEnd = shim_error_is_end_of_pem(ERR_peek_last_error()) == 1
        let why = ErrorQueue.words()
        guard isAtEnd else {
            throw TLSError(
                .configuration,
                "\(what): certificate number \(certificates.count + 1) cannot be read as PEM: \(why)")
        }
        guard !certificates.isEmpty else {
            throw TLSError(.configuration, "\(what) holds no certificate in PEM form")
        }
        return certificates
    }

    var pem: String {
        bytesOfMemoryBIO { bio in PEM_write_bio_X509(bio, pointer) }
    }

    /// What people read: `CN = example.test`.
    static func subject(_ certificate: OpaquePointer) -> String {
        let name = bytesOfMemoryBIO { bio in
            shim_name_print(bio, X509_get_subject_name(certificate))
            return 1
        }
        return name.isEmpty ? "a certificate without subject" : name
    }

    /// A peer's text fit for a log: anything but visible ASCII as `\\x1B`.
    private static func printable(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        bytes.reduce(into: "") { text, byte in
            if (0x21...0x7E).contains(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    /// The DNS names and addresses a certificate is for.
    static func names(_ certificate: OpaquePointer) -> [String] {
        guard let extensionValue = X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil) else {
            return []
        }
        let names = OpaquePointer(extensionValue)
        defer { GENERAL_NAMES_free(names) }
        return (0..<shim_name_count(names)).compactMap { index in
            var type: Int32 = 0
            var count: Int32 = 0
            guard let name = shim_name_at(names, index), let bytes = shim_name_bytes(name, &type, &count)
            else {
                return nil
            }
            let value = UnsafeBufferPointer(start: bytes, count: Int(count))
            if type == GEN_DNS { return printable(value) }
            return switch count {
            case 4: IPv4Address(value: value.reduce(0) { $0 << 8 | UInt32($1) }).description
            case 16: IPv6Address(value: value.reduce(0) { $0 << 8 | UInt128($1) }).description
            default: nil
            }
        }
    }
}

/// One EVP_PKEY.
final class PrivateKey {
    private let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    /// - Parameter what: whose key it is, for the message.
    init(pem: String, of what: String) throws(TLSError) {
        ErrorQueue.clear()
        var key: OpaquePointer?
        withMemoryBIO(pem) { bio in key = PEM_read_bio_PrivateKey(bio, nil, noPassphrase, nil) }
        guard let key else {
            throw TLSError(
                .configuration,
                "\(what) cannot be read as PEM without a passphrase: \(ErrorQueue.words())")
        }
        pointer = key
    }

    deinit {
        EVP_PKEY_free(pointer)
    }

    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        body(pointer)
    }

    var pem: String {
        bytesOfMemoryBIO { bio in PEM_write_bio_PrivateKey(bio, pointer, nil, nil, 0, nil, nil) }
    }
}

/// Without this OpenSSL would ask for the passphrase of an encrypted key on the terminal, and wait.
private func noPassphrase(
    _: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32, _: UnsafeMutableRawPointer?
) -> Int32 { -1 }

/// Lets `body` read `text` through a BIO.
private func withMemoryBIO(_ text: String, _ body: (OpaquePointer) -> Void) {
    var text = text
    text.withUTF8 { bytes in
        guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return }
        body(bio)
        BIO_free(bio)
    }
}

/// What `body` writes into a BIO, as text.
func bytesOfMemoryBIO(_ body: (OpaquePointer) -> Int32) -> String {
    guard let bio = BIO_new(BIO_s_mem()) else { return "" }
    defer { BIO_free(bio) }
    _ = body(bio)
    var start: UnsafeMutablePointer<CChar>?
    let count = shim_bio_bytes(bio, &start)
    return String(decoding: UnsafeRawBufferPointer(start: start, count: max(count, 0)), as: UTF8.self)
}
