import BirdRealtime
import Foundation

/// The options that say which service is meant and how to be let in: the same for every subcommand that connects.
enum Endpoint {
    static let options: [CommandSpecification.Option] = [
        .value("--app-key", "K", "the app key; else BIRD_APP_KEY"),
        .value("--region", "R", "the region, such as us1 or eu1; else BIRD_REGION"),
        .value("--host", "HOST[:PORT]", "a host of your own in place of a region"),
        .flag("--insecure", "plain ws://, to a loopback --host only"),
        .value("--ca-file", "F", "trust the certificates of this PEM file, for https endpoints as well"),
        .value("--auth-endpoint", "URL", "your backend's authorization of private and presence channels"),
        .value("--member-auth-endpoint", "URL", "your backend's authorization of signin"),
        .value("--auth-header", "'name: value'", "sent with both authorizations", repeats: true),
        .value("--activity-timeout", "S", "silence before a ping, seconds (120)"),
        .value("--pong-timeout", "S", "wait for its answer, seconds (30)"),
        .value("--connect-timeout", "S", "from the name lookup to the handshake, seconds (30)"),
        .value("--auth-timeout", "S", "one authorization, seconds (10)"),
        .flag("--deflate", "offer permessage-deflate"),
    ]

    static func clientOptions(_ arguments: Arguments) throws(UsageError) -> BirdRealtimeOptions {
        let environment = ProcessInfo.processInfo.environment
        guard let appKey = arguments.text("--app-key") ?? environment["BIRD_APP_KEY"], !appKey.isEmpty else {
            throw UsageError("an app key is missing: give --app-key or set BIRD_APP_KEY")
        }
        let host = arguments.text("--host")
        if host != nil, arguments.has("--region") {
            throw UsageError("--host and --region exclude each other")
        }
        let region = host == nil ? arguments.text("--region") ?? environment["BIRD_REGION"] : nil
        guard host != nil || region?.isEmpty == false else {
            throw UsageError("a place is missing: give --region or --host, or set BIRD_REGION")
        }
        var headers: [String: String] = [:]
        for (name, value) in try arguments.headers("--auth-header") { headers[name] = value }
        var options = BirdRealtimeOptions(
            appKey: appKey, region: region, wsHost: host, authEndpoint: arguments.text("--auth-endpoint"),
            authHeaders: headers, memberAuthEndpoint: arguments.text("--member-auth-endpoint"),
            activityTimeout: try arguments.seconds("--activity-timeout") ?? 120,
            pongTimeout: try arguments.seconds("--pong-timeout") ?? 30,
            allowInsecure: arguments.has("--insecure"))
        options.autoConnect = false
        if let seconds = try arguments.seconds("--connect-timeout") { options.connectTimeout = seconds }
        if let seconds = try arguments.seconds("--auth-timeout") { options.authTimeout = seconds }
        if let file = arguments.text("--ca-file") {
            guard FileManager.default.isReadableFile(atPath: file) else {
                throw UsageError("--ca-file \(file) cannot be read")
            }
            options.tls.trust = .file(file)
        }
        if arguments.has("--deflate") { options.permessageDeflate = .init() }
        do {
            try options.validate()
        } catch {
            throw UsageError("\(error)")
        }
        return options
    }
}
