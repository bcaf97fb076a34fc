/// What a watcher wants to hear about.
package struct Interest: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)
}

/// What the kernel reported. With `hangup` or `error` everything the watcher waits for is reported too,
/// so that a handler which only reads or writes meets the error there.
package struct Readiness: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let readable = Readiness(rawValue: 1)
    package static let writable = Readiness(rawValue: 2)
    /// Both directions are closed.
    package static let hangup = Readiness(rawValue: 4)
    /// The descriptor carries an error: the next read or write tells which.
    package static let error = Readiness(rawValue: 8)
}

/// Hears on the loop's thread that a watched descriptor is ready.
package protocol ReadinessHandler: AnyObject {
    /// Called on the loop's thread. It may watch, change and unwatch anything, itself included.
    func ready(_ readiness: Readiness)
}

/// Names one watch; a number that is used again after `unwatch` carries another generation.
package struct WatchID: Hashable, Sendable {
    let token: UInt64
}

/// Names one timer; cancelling one that has fired already does nothing.
package struct TimerID: Hashable, Sendable {
    let slot: Int
    let sequence: UInt64
}
