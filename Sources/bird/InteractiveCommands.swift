import BirdRealtime
import Foundation

/// The lines a person, or a script, types into `bird listen --interactive`.
struct InteractiveCommands: Sendable {
    private let bird: BirdRealtime
    private let session: ListenSession

    init(_ bird: BirdRealtime, _ session: ListenSession) {
        self.bird = bird
        self.session = session
    }

    /// Until stdin ends, which ends nothing else.
    func run() async {
        for await line in StandardInput.lines() {
            let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: true).map(
                String.init)
            if let command = words.first { session.acknowledge(perform(command, Array(words.dropFirst()))) }
        }
    }

    private func perform(_ command: String, _ words: [String]) -> EventPrinter.Acknowledgement {
        var acknowledgement = EventPrinter.Acknowledgement(command: command)
        switch (command, words.count) {
        case ("subscribe", 1):
            acknowledgement.channel = words[0]
            session.listen(to: words[0])
        case ("unsubscribe", 1):
            acknowledgement.channel = words[0]
            bird.unsubscribe(words[0])
        case ("trigger", 3):
            acknowledgement.channel = words[0]
            trigger(words, &acknowledgement)
        case ("disconnect", 0): bird.disconnect()
        case ("connect", 0): bird.connect()
        case ("signin", 0): session.signin(isAsked: true)
        default:
            acknowledgement.error =
                "not understood; there are: subscribe C, unsubscribe C, trigger C EVENT JSON, disconnect, connect, signin"
        }
        return acknowledgement
    }

    private func trigger(_ words: [String], _ acknowledgement: inout EventPrinter.Acknowledgement) {
        guard let channel = bird.channel(words[0]) else {
            acknowledgement.sent = false
            acknowledgement.error = "not subscribed to \(words[0])"
            return
        }
        do {
            acknowledgement.sent = try channel.trigger(words[1], data: try JSONValueText.value(words[2]))
        } catch {
            acknowledgement.sent = false
            acknowledgement.error = ListenSession.words(error)
        }
    }
}

/// JSON given on a command line.
enum JSONValueText {
    struct Unreadable: BirdRealtimeError {
        var message: String
    }

    static func value(_ text: String) throws -> Any {
        do {
            return try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        } catch {
            throw Unreadable(message: "'\(text)' is not JSON")
        }
    }
}
