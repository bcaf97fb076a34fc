import BirdRealtime
import Foundation
import Synchronization

/// One run of `bird listen`: binds what is to be shown, and knows when it is over.
final class ListenSession: Sendable {
    private let bird: BirdRealtime
    private let command: ListenCommand
    private let printer: EventPrinter
    private let remaining: Mutex<Int?>
    private let hasSignedIn = Mutex(false)
    private let outcomes: AsyncStream<ExitCode>
    private let outcome: AsyncStream<ExitCode>.Continuation

    init(_ bird: BirdRealtime, _ command: ListenCommand) {
        self.bird = bird
        self.command = command
        printer = EventPrinter(asJSON: command.asJSON)
        remaining = Mutex(command.count)
        (outcomes, outcome) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Observers first, so that no transition is missed.
    func start() {
        bird.onConnectionStateChange { [self] previous, current in stateChanged(previous, current) }
        bird.onError { [printer] error in printer.error(code: error.code, error.message) }
        bird.onSigninError { [printer] error in printer.signinError(Self.words(error)) }
        bird.onConnectingIn { [printer] seconds in printer.connectingIn(seconds) }
        if command.signsIn || command.isInteractive { observeMember() }
        for channel in command.channels { listen(to: channel) }
        bird.connect()
    }

    /// Subscribes a channel and prints its events. Once a channel object: bound twice, events would be printed twice.
    func listen(to name: String) {
        let isNew = bird.channel(name) == nil
        let channel = bird.subscribe(name)
        guard isNew else { return }
        channel.bindGlobalData { [self] event, data in
            if !event.hasPrefix(BirdProtocol.system) { application(event, data, on: name) }
        }
        channel.bindGlobal { [printer] event, value in
            if event.hasPrefix(BirdProtocol.system) {
                printer.event(channel: name, event, data: PresenceText.json(event, value))
            }
        }
    }

    private func application(_ event: String, _ data: EventData, on channel: String) {
        guard command.events.isEmpty || command.events.contains(event) else { return }
        let isWanted = remaining.withLock { remaining -> Bool in
            guard let count = remaining else { return true }
            remaining = max(count - 1, 0)
            return count > 0
        }
        guard isWanted else { return }
        printer.event(channel: channel, event, data: PresenceText.json(data))
        if remaining.withLock({ $0 == 0 }) { finish(.done) }
    }

    private func observeMember() {
        bird.member.bindGlobal { [printer] event, value in
            printer.member(event, data: JSONLine.text(of: value))
        }
        bird.member.watchlist.bindGlobal { [printer] event, value in
            let ids = value as? [String] ?? []
            printer.watchlist(event, ids)
        }
    }

    private func stateChanged(_ previous: ConnectionState, _ current: ConnectionState) {
        printer.state(previous, current, connectionID: bird.connectionId)
        switch current {
        case .connected where command.signsIn: signin(isAsked: false)
        case .failed where !command.isInteractive: finish(.failed)
        default: break
        }
    }

    /// Signs in and prints how it went. Failures of later connections come through `onSigninError`.
    func signin(isAsked: Bool) {
        let isFirst = hasSignedIn.withLock { hasSignedIn in
            defer { hasSignedIn = true }
            return !hasSignedIn
        }
        Task {
            do {
                let member = try await bird.signin()
                printer.signin(member.memberId)
            } catch {
                if isFirst || isAsked { printer.signinError(Self.words(error)) }
            }
        }
    }

    func acknowledge(_ acknowledgement: EventPrinter.Acknowledgement) {
        printer.acknowledge(acknowledgement)
    }

    func finish(_ code: ExitCode) {
        outcome.yield(code)
        outcome.finish()
    }

    func finished() async -> ExitCode {
        for await code in outcomes { return code }
        return .done
    }

    static func words(_ error: any Error) -> String {
        (error as? any BirdRealtimeError)?.message ?? String(describing: error)
    }
}
