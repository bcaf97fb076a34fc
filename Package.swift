// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableExperimentalFeature("Lifetimes"),
]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tool(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(of name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: [.byName(name: name)] + dependencies,
        swiftSettings: strict)
}

let package = Package(
    name: "bird-realtime-swift",
    products: [
        .library(name: "WebSocketClient", targets: ["WebSocketClient"]),
        .library(name: "BirdRealtime", targets: ["BirdRealtime"]),
        .library(name: "BirdRealtimeTestKit", targets: ["BirdRealtimeTestKit"]),
        .executable(name: "bird", targets: ["bird"]),
    ],
    targets: [
        .systemLibrary(
            name: "CSystemShims", path: "CSystemShims",
            providers: [.apt(["libssl-dev", "zlib1g-dev"])]),

        module("WebSocketCore"),
        module("WebSocketDeflate", ["WebSocketCore", "CSystemShims"]),
        module("SystemIO", ["CSystemShims"]),
        module("SystemTLS", ["SystemIO", "CSystemShims"]),
        module("WebSocketClient", ["WebSocketCore", "WebSocketDeflate", "SystemIO", "SystemTLS"]),
        module("RealtimeCore"),
        module(
            "BirdRealtime",
            ["RealtimeCore", "WebSocketClient", "WebSocketCore", "SystemIO", "SystemTLS"]),
        module(
            "BirdRealtimeTestKit",
            ["BirdRealtime", "RealtimeCore", "WebSocketClient", "WebSocketCore", "SystemTLS", "SystemIO"]),

        tool("bird", ["BirdRealtime", "BirdRealtimeTestKit", "WebSocketClient"]),
        tool("websocket-echo", ["WebSocketClient"]),
        tool("websocket-testee", ["WebSocketClient"]),
        tool("websocket-bench", ["BirdRealtime", "WebSocketClient"]),

        tests(of: "WebSocketCore"),
        tests(of: "WebSocketDeflate", ["WebSocketCore"]),
        tests(of: "SystemIO"),
        tests(of: "SystemTLS", ["SystemIO"]),
        tests(of: "WebSocketClient", ["WebSocketCore", "WebSocketDeflate", "SystemIO", "SystemTLS"]),
        tests(of: "RealtimeCore"),
        tests(of: "BirdRealtime", ["BirdRealtimeTestKit", "RealtimeCore", "SystemIO", "SystemTLS"]),
        tests(
            of: "BirdRealtimeTestKit",
            ["BirdRealtime", "RealtimeCore", "WebSocketClient", "SystemTLS", "SystemIO"]),
        .testTarget(
            name: "BirdToolTests", dependencies: ["bird", "BirdRealtimeTestKit", "WebSocketClient"],
            swiftSettings: strict),
        .testTarget(
            name: "CompatibilityTests", dependencies: ["BirdRealtime", "BirdRealtimeTestKit"],
            swiftSettings: [.swiftLanguageMode(.v6)]),
    ]
)
