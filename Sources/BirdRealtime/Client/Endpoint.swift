import WebSocketCore

/// Where the WebSocket of a client goes.
struct Endpoint: Sendable, Hashable {
    /// Name or address, IPv6 without brackets.
    var host: String
    /// nil stands for the scheme's own port.
    var port: UInt16?
    var isSecure: Bool
    var appKey: String

    /// Host and port as they stand in a URL.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port.map { "\(name):\($0)" } ?? name
    }

    /// The URL of the WebSocket. The key is one path segment, whatever it holds.
    var url: String {
        "\(isSecure ? "wss" : "ws")://\(authority)/app/\(Endpoint.escaped(appKey))"
            + "?protocol=7&client=realtime-swift&version=\(Endpoint.escaped(BirdRealtime.version))"
    }

    /// RFC 3986 §2.3: everything but unreserved characters is escaped.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        // A segment of dots alone would be resolved away (RFC 3986 §5.2.4).
        return result == "." ? "%2E" : result == ".." ? "%2E%2E" : result
    }
}

extension Endpoint {
    /// The endpoint that the options name.
    init(_ options: BirdRealtimeOptions) throws(RealtimeError) {
        guard !options.appKey.isEmpty else {
            throw RealtimeError(message: "appKey is empty: give the key of your application")
        }
        appKey = options.appKey
        if let wsHost = options.wsHost {
            (host, port) = try Endpoint.parse(wsHost)
        } else if let region = options.region {
            guard !region.isEmpty else {
                throw RealtimeError(message: "region is empty: give a region such as us1 or eu1, or wsHost")
            }
            guard let name = Endpoint.hostName("ws-\(region).realtime.platform.bird.com") else {
                throw RealtimeError(message: "region \"\(region)\" cannot be part of a host name")
            }
            (host, port) = (name, nil)
        } else {
            throw RealtimeError(message: "no place to connect to: give region (such as us1 or eu1) or wsHost")
        }
        isSecure = !(options.allowInsecure && Endpoint.loopbackHosts.contains(host.lowercased()))
    }

    private static let loopbackHosts: Set<String> = ["localhost", "127.0.0.1", "::1"]

    /// `name`, `name:port`, `[v6]`, `[v6]:port`.
    private static func parse(_ text: String) throws(RealtimeError) -> (String, UInt16?) {
        func unusable(_ why: String) -> RealtimeError {
            RealtimeError(message: "wsHost \"\(text)\" \(why): give a host name, with :port if needed")
        }
        guard !text.isEmpty else { throw unusable("is empty") }
        guard !text.contains("/") else { throw unusable("is not a host") }
        let name: String?
        var rest: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { throw unusable("lacks the closing bracket") }
            name = hostName(IPv6: text[text.index(after: text.startIndex)..<end])
            rest = text[text.index(after: end)...]
        } else {
            let end = text.firstIndex(of: ":") ?? text.endIndex
            name = hostName(text[..<end])
            rest = text[end...]
        }
        guard let name else { throw unusable("is not a valid host name") }
        if rest.isEmpty { return (name, nil) }
        guard rest.removeFirst() == ":", rest.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(rest), port != 0
        else { throw unusable("has no valid port (1-65535)") }
        return (name, port)
    }

    /// The host as it is, when it can be one: letters, digits, hyphens, underscores and dots.
    private static func hostName(_ text: some StringProtocol) -> String? {
        let isValid =
            !text.isEmpty && text.utf8.count <= 253
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        // One dot may end a name; no label is empty or longer than 63 bytes (RFC 1035 §2.3.4).
        let inner = labels.last == "" && labels.count > 1 ? labels.dropLast() : labels[...]
        return isValid && inner.allSatisfy({ (1...63).contains($0.utf8.count) }) ? String(text) : nil
    }

    private static func hostName(IPv6 text: some StringProtocol) -> String? {
        let isValid =
            text.contains(":")
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
        return isValid ? String(text) : nil
    }
}

extension BirdRealtimeOptions {
    /// Checks what can be checked without a connection.
    ///
    /// - Throws: ``RealtimeError`` whose message names the option to mend. A client made from such options goes to
    ///   `failed` and reports the same error.
    public func validate() throws {
        _ = try checkedEndpoint()
    }

    func checkedEndpoint() throws(RealtimeError) -> Endpoint {
        let endpoint = try Endpoint(self)
        for (name, seconds) in [
            ("activityTimeout", activityTimeout), ("pongTimeout", pongTimeout),
            ("connectTimeout", connectTimeout), ("authTimeout", authTimeout),
        ] {
            guard seconds.isFinite, seconds > 0 else {
                throw RealtimeError(message: "\(name) is \(seconds): give a number of seconds above 0")
            }
        }
        for (name, url) in [("authEndpoint", authEndpoint), ("memberAuthEndpoint", memberAuthEndpoint)] {
            guard let url else { continue }
            guard AuthEndpoint(url) != nil else {
                throw RealtimeError(
                    message: "\(name) \"\(url)\" is not a URL: give an absolute http or https URL")
            }
        }
        var fields = HTTPFields()
        for (name, value) in headers { fields.append(name, value) }
        do {
            let request = ClientHandshake.Request(host: endpoint.authority, target: "/", fields: fields)
            _ = try ClientHandshake(request, key: [UInt8](repeating: 0, count: 16))
        } catch {
            throw RealtimeError(message: "headers: \(error.message)")
        }
        guard maxPendingDeliveryBytes > 0 else {
            throw RealtimeError(
                message: "maxPendingDeliveryBytes is \(maxPendingDeliveryBytes): give a number above 0")
        }
        return endpoint
    }
}
