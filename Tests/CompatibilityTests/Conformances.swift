// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
import BirdRealtime
import Foundation

// What programs add to the types of the client for themselves. None of it may collide with the library.

extension RealtimeError: LocalizedError {
    public var errorDescription: String? { "\(code.map(String.init) ?? "-"): \(message)" }
}

extension RealtimeAuthError: LocalizedError {
    public var errorDescription: String? { "\(endpoint) \(status): \(message)" }
}

extension RealtimeError: CustomStringConvertible {
    public var description: String { message }
}

extension ConnectionState: CustomStringConvertible {
    // Every test of the package runs in one process: it may not read differently there.
    public var description: String { rawValue }
}

extension Member: Identifiable {
    public var id: String { memberId }
}

extension SignedInMember: Identifiable {
    public var id: String { memberId }
}

extension Channel: Identifiable {
    public var id: String { name }
}

extension Channel: CustomStringConvertible {
    public var description: String { "#\(name)" }
}

/// An error of the program's own.
enum ShopError: BirdRealtimeError {
    case closed

    var message: String { "the shop is closed" }
}
