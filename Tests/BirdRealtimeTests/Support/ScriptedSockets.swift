import RealtimeCore
import Synchronization

@testable import BirdRealtime

/// A network that a test plays: it sees what the client opens and sends, and says what the service says.
final class ScriptedSockets: SocketConnector {
    final class Socket: RealtimeSocket {
        struct Closing: Equatable {
            var code: Int
            var waitForPeer: Bool
        }

        let link: SocketLink
        private let sentTexts = Mutex<[String]>([])
        private let closings = Mutex<[Closing]>([])

        init(_ link: SocketLink) { self.link = link }

        var sent: [String] { sentTexts.withLock { $0 } }
        var closing: Closing? { closings.withLock { $0.first } }

        func send(_ text: [UInt8]) {
            sentTexts.withLock { $0.append(String(decoding: text, as: UTF8.self)) }
        }

        func close(code: Int, reason: String, waitForPeer: Bool) {
            closings.withLock { $0.append(Closing(code: code, waitForPeer: waitForPeer)) }
        }

        /// A message of the service.
        func says(_ text: String) {
            link.received(Array(text.utf8).span.bytes, isText: true)
        }

        /// The handshake event with this connection id.
        func establishes(_ id: String = "1.1") {
            link.opened()
            says(
                #"{"event":"bird:connection_established","data":"{\"connection_id\":\"\#(id)\",\"activity_timeout\":120}"}"#
            )
        }

        func accepts(_ channel: String, _ data: String = "{}") {
            says(
                #"{"event":"bird_internal:subscription_succeeded","channel":"\#(channel)","data":\#(data)}"#)
        }

        func publishes(_ event: String, on channel: String, _ data: String) {
            says(#"{"event":"\#(event)","channel":"\#(channel)","data":\#(data)}"#)
        }

        func ends(_ code: Int? = nil, _ kind: SocketEnd.Kind = .closeFrame) {
            link.ended(SocketEnd(kind, code: code, reason: ""))
            link.gone()
        }
    }

    private let opened = Mutex<[Socket]>([])

    func open(_ link: SocketLink) -> any RealtimeSocket {
        let socket = Socket(link)
        opened.withLock { $0.append(socket) }
        return socket
    }

    var sockets: [Socket] { opened.withLock { $0 } }
    var last: Socket { sockets[sockets.count - 1] }
}

/// Time that stands still until a test moves it.
final class StillClock: RealtimeClock {
    private struct State {
        var now = Duration.seconds(1000)
        var timers: [Int: (deadline: Duration, body: @Sendable () -> Void)] = [:]
        var lastTimer = 0
    }

    private let state = Mutex(State())

    var now: Duration { state.withLock { $0.now } }
    var timerCount: Int { state.withLock { $0.timers.count } }

    func schedule(at deadline: Duration, _ body: @escaping @Sendable () -> Void) -> RealtimeTimer {
        let id = state.withLock { state in
            state.lastTimer += 1
            state.timers[state.lastTimer] = (deadline, body)
            return state.lastTimer
        }
        return RealtimeTimer { [weak self] in
            _ = self?.state.withLock { $0.timers.removeValue(forKey: id) }
        }
    }

    /// Moves on, and fires what comes due on the way in its order.
    func advance(by wait: Duration) {
        let target = now + wait
        while true {
            let due = state.withLock { state -> (@Sendable () -> Void)? in
                guard let next = state.timers.min(by: { $0.value.deadline < $1.value.deadline }),
                    next.value.deadline <= target
                else { return nil }
                state.now = max(state.now, next.value.deadline)
                state.timers[next.key] = nil
                return next.value.body
            }
            guard let due else { break }
            due()
        }
        state.withLock { $0.now = target }
    }
}
