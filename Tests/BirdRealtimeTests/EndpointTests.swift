import Testing

@testable import BirdRealtime

@Suite struct EndpointTests {
    func endpoint(_ change: (inout BirdRealtimeOptions) -> Void) throws -> Endpoint {
        var options = BirdRealtimeOptions(appKey: "key")
        change(&options)
        return try options.checkedEndpoint()
    }

    @Test("A region names a host of the service")
    func region() throws {
        let url = try endpoint { $0.region = "eu1" }.url
        #expect(
            url == "wss://ws-eu1.realtime.platform.bird.com/app/key?protocol=7&client=realtime-swift&version="
                + BirdRealtime.version)
    }

    @Test("wsHost wins over the region, with or without a port")
    func host() throws {
        #expect(
            try endpoint {
                $0.region = "us1"; $0.wsHost = "edge.test"
            }.authority == "edge.test")
        #expect(try endpoint { $0.wsHost = "edge.test:8443" }.authority == "edge.test:8443")
        #expect(try endpoint { $0.wsHost = "[::1]:90" }.authority == "[::1]:90")
        #expect(try endpoint { $0.wsHost = "[::1]" }.host == "::1")
    }

    @Test(
        "The app key is one path segment",
        arguments: [
            ("a/b?c#d e", "a%2Fb%3Fc%23d%20e"), ("..", "%2E%2E"), ("%", "%25"), ("ü", "%C3%BC"),
            ("A-z_0.~", "A-z_0.~"),
        ])
    func appKey(key: String, segment: String) throws {
        let url = try endpoint {
            $0.appKey = key; $0.region = "us1"
        }.url
        #expect(url.contains("/app/\(segment)?protocol=7"))
    }

    @Test(
        "Plain ws is for loopback hosts that were allowed it",
        arguments: [
            ("localhost:1", true, false), ("127.0.0.1:1", true, false), ("[::1]:1", true, false),
            ("LOCALHOST", true, false),
            ("localhost:1", false, true), ("edge.test", true, true), ("127.0.0.2", true, true),
            ("localhost.test", true, true),
        ])
    func insecure(host: String, allowed: Bool, secure: Bool) throws {
        #expect(
            try endpoint {
                $0.wsHost = host; $0.allowInsecure = allowed
            }.isSecure == secure)
    }

    @Test("Unusable options say which one to mend")
    func unusable() {
        let cases: [(String, (inout BirdRealtimeOptions) -> Void)] = [
            (
                "appKey",
                {
                    $0.appKey = ""; $0.region = "us1"
                }
            ),
            ("region", { _ in }),
            ("region", { $0.region = "" }),
            ("region", { $0.region = "a/b" }),
            ("wsHost", { $0.wsHost = "" }),
            ("wsHost", { $0.wsHost = "wss://edge.test" }),
            ("wsHost", { $0.wsHost = "edge.test:70000" }),
            ("wsHost", { $0.wsHost = "edge.test:0" }),
            ("wsHost", { $0.wsHost = "[::1" }),
            ("wsHost", { $0.wsHost = "a b" }),
            ("wsHost", { $0.wsHost = "a..b" }),
            (
                "activityTimeout",
                {
                    $0.region = "us1"; $0.activityTimeout = 0
                }
            ),
            (
                "pongTimeout",
                {
                    $0.region = "us1"; $0.pongTimeout = .nan
                }
            ),
            (
                "connectTimeout",
                {
                    $0.region = "us1"; $0.connectTimeout = -1
                }
            ),
            (
                "authTimeout",
                {
                    $0.region = "us1"; $0.authTimeout = .infinity
                }
            ),
            (
                "authEndpoint",
                {
                    $0.region = "us1"; $0.authEndpoint = "/auth"
                }
            ),
            (
                "memberAuthEndpoint",
                {
                    $0.region = "us1"; $0.memberAuthEndpoint = "ftp://x/y"
                }
            ),
            (
                "Sec-WebSocket-Key",
                {
                    $0.region = "us1"
                    $0.headers = [("Sec-WebSocket-Key", "x")]
                }
            ),
            (
                "headers",
                {
                    $0.region = "us1"
                    $0.headers = [("a", "b\r\nc: d")]
                }
            ),
            (
                "Sec-WebSocket-Key",
                {
                    $0.region = "us1"
                    $0.headers = [("Sec-WebSocket-Key", "x")]
                }
            ),
            (
                "headers",
                {
                    $0.region = "us1"
                    $0.headers = [("a", "b\r\nc: d")]
                }
            ),
            (
                "maxPendingDeliveryBytes",
                {
                    $0.region = "us1"; $0.maxPendingDeliveryBytes = 0
                }
            ),
        ]
        for (name, change) in cases {
            var options = BirdRealtimeOptions(appKey: "key")
            change(&options)
            #expect {
                try options.validate()
            } throws: { error in
                (error as? RealtimeError)?.message.contains(name) == true
            }
        }
    }
}
