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
    public var description: String {
        switch self {
        case .initialized: "new"
        case .connecting: "dialing"
        case .connected: "up"
        case .unavailable: "down"
        case .disconnected: "off"
        case .failed: "broken"
        }
    }
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
