/// What is signed, and by whom: `auth` is `<appKey>:<hex HMAC-SHA256(appSecret, text)>`.
struct EdgeSignature: Sendable {
    var appKey: String
    /// HMAC-SHA256 with the application's secret, in lower-case hexadecimal.
    var hexDigest: @Sendable (_ text: String) -> String

    static func text(connectionID: String, channel: String, memberData: String?) -> String {
        memberData.map { "\(connectionID):\(channel):\($0)" } ?? "\(connectionID):\(channel)"
    }

    static func signinText(connectionID: String, memberData: String) -> String {
        "\(connectionID)::member::\(memberData)"
    }

    func auth(for text: String) -> String { "\(appKey):\(hexDigest(text))" }

    /// nil when the signature is right, otherwise what is wrong with it.
    func fault(in auth: String?, for text: String) -> String? {
        guard let auth, !auth.isEmpty else { return "`auth` is missing" }
        if auth == self.auth(for: text) { return nil }
        guard auth.hasPrefix("\(appKey):") else {
            return "`auth` does not begin with the application key and \":\""
        }
        return "the signature in `auth` is wrong; the text to sign with the application's secret is \(text)"
    }
}
