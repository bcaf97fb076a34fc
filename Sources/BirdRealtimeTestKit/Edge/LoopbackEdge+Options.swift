public import BirdRealtime

extension LoopbackEdge {
    /// Options of a client of this edge: its application key, host, endpoints and, on a secure edge, its authority.
    /// Call it after ``start()``.
    public func options() -> BirdRealtimeOptions {
        var options = BirdRealtimeOptions(
            appKey: appKey, wsHost: wsHost, authEndpoint: authEndpoint,
            memberAuthEndpoint: memberAuthEndpoint,
            allowInsecure: !configuration.isSecure)
        if let certificateAuthorityPEM { options.tls.trust = .pem(certificateAuthorityPEM) }
        return options
    }
}
