/// Somebody on a presence channel.
public struct Member: @unchecked Sendable {
    // Sendable is sound: `memberInfo` is a decoded JSON value (strings, numbers, immutable containers) that
    // nothing changes after it was made.

    /// The id the backend gave to this member; a number on the wire arrives as its digits.
    public let memberId: String
    /// What the backend told about the member: any JSON value as `JSONSerialization` gives it, or nil.
    public let memberInfo: Any?

    /// A member. `memberInfo` must be a JSON value, or at least one that is safe to share between threads.
    public init(memberId: String, memberInfo: Any? = nil) {
        self.memberId = memberId
        self.memberInfo = memberInfo
    }
}

/// The member this client signed in as.
public struct SignedInMember: @unchecked Sendable {
    // Sendable is sound for the reason given at `Member`.

    /// The id the backend gave to this member; a number on the wire arrives as its digits.
    public let memberId: String
    /// What the backend told about the member: any JSON value as `JSONSerialization` gives it, or nil.
    public let memberInfo: Any?

    /// A signed-in member. `memberInfo` must be a JSON value, or at least one that is safe to share between threads.
    public init(memberId: String, memberInfo: Any? = nil) {
        self.memberId = memberId
        self.memberInfo = memberInfo
    }
}
