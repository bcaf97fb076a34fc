import SystemIO
import WebSocketCore

/// A `ws` or `wss` URL (RFC 6455 §3), taken apart.
package struct WebSocketURL: Sendable, Equatable {
    package var isSecure: Bool
    /// Without brackets.
    package var host: String
    package var port: UInt16
    /// Path and query, as they go into the request.
    package var target: String

    package init(_ text: String) throws(WebSocketError) {
        func unusable(_ why: String) -> WebSocketError {
            WebSocketError(.misuse, "the URL '\(text)' cannot be used: \(why)")
        }
        guard let separator = text.firstRange(of: "://") else {
            throw unusable("it does not begin with ws:// or wss://")
        }
        switch text[..<separator.lowerBound].lowercased() {
        case "ws": isSecure = false
        case "wss": isSecure = true
        case let other: throw unusable("its scheme is '\(other)', not ws or wss")
        }
        let rest = text[separator.upperBound...]
        guard rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw unusable(
                "spaces and other characters than ASCII must be percent-encoded, or punycode in the host")
        }
        guard !rest.contains("#") else { throw unusable("a WebSocket URL has no fragment (RFC 6455 §3)") }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@") else {
            throw unusable("it holds credentials; give them in options.headers as Authorization")
        }
        let target = rest[authority.endIndex...]
        self.target = target.isEmpty ? "/" : target.hasPrefix("?") ? "/" + target : String(target)

        let host: Substring
        let portText: Substring?
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else {
                throw unusable("its address has no closing bracket")
            }
            let inner = authority[authority.index(after: authority.startIndex)..<end]
            // RFC 6874 §2: the percent sign before a zone is itself escaped in a URL.
            if let zone = inner.firstRange(of: "%25"), zone.upperBound < inner.endIndex {
                host = inner[..<zone.lowerBound] + "%" + inner[zone.upperBound...]
            } else {
                host = inner
            }
            guard SocketAddress.literal(String(host), 0) != nil, host.contains(":") else {
                throw unusable("'\(host)' is no IPv6 address")
            }
            let behind = authority[authority.index(after: end)...]
            guard behind.isEmpty || behind.hasPrefix(":") else {
                throw unusable("something follows its address")
            }
            portText = behind.isEmpty ? nil : behind.dropFirst()
        } else {
            let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            host = parts.first ?? ""
            portText = parts.count == 2 ? parts[1] : nil
        }
        guard !host.isEmpty else { throw unusable("it has no host") }
        self.host = String(host)
        if let portText, !portText.isEmpty {
            guard portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(portText),
                port > 0
            else {
                throw unusable("its port '\(portText)' is not 1 to 65535")
            }
            self.port = port
        } else {
            port = isSecure ? 443 : 80
        }
    }

    /// The Host field (RFC 9110 §7.2): the port is left out where it is the scheme's own, the zone always.
    package var hostField: String {
        var name = host
        if host.contains(":") { name = "[\(host.prefix { $0 != "%" })]" }
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// `host:port` for messages.
    package var place: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

extension StringProtocol {
    fileprivate func firstRange(of pattern: String) -> Range<Index>? {
        var index = startIndex
        while index < endIndex {
            if self[index...].hasPrefix(pattern) { return index..<self.index(index, offsetBy: pattern.count) }
            index = self.index(after: index)
        }
        return nil
    }
}
