import Foundation
import WebSocketClient

/// Sequential round trips, on the event loop's thread, to which its state is confined.
final class EchoBench: WebSocketHandler, @unchecked Sendable {
    private let payload: [UInt8]
    private let count: Int
    private let warmUp: Int
    private var done = 0
    private var sent = 0.0
    private var durations: [Double] = []
    private var span = Span()
    private let finished: @Sendable (String?) -> Void

    private init(size: Int, count: Int, _ finished: @escaping @Sendable (String?) -> Void) {
        payload = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        self.count = count
        warmUp = min(count / 10, 100)
        durations.reserveCapacity(count)
        self.finished = finished
    }

    func opened(_ agreement: WebSocketAgreement, _ link: WebSocketHandle) {
        send(link)
    }

    private func send(_ link: WebSocketHandle) {
        if done == warmUp { span = Span() }
        sent = Measure.now
        link.send(.text, payload)
    }

    func received(_ kind: MessageKind, _ bytes: RawSpan, _ link: WebSocketHandle) {
        guard bytes.byteCount == payload.count else { return link.abort() }
        if done >= warmUp { durations.append(Measure.now - sent) }
        done += 1
        if done < count + warmUp {
            send(link)
        } else {
            report()
            link.close()
        }
    }

    private func report() {
        let (seconds, cpu) = (span.seconds, span.cpu)
        durations.sort()
        func microseconds(_ share: Double) -> Double {
            durations[min(Int(Double(durations.count) * share), durations.count - 1)] * 1e6
        }
        finished(
            "{\"round_trips\":\(count),\"seconds\":\(seconds),\"p50_us\":\(microseconds(0.5)),"
                + "\"p99_us\":\(microseconds(0.99)),\"max_us\":\(microseconds(1)),"
                + "\"rt_per_s\":\(Double(count) / seconds),\"cpu_s\":\(cpu)}")
    }

    func ended(_ end: WebSocketEnd) {
        if done < count + warmUp { finished(nil) }
    }

    static func run(_ url: String, size: Int, count: Int) async throws {
        let line = await withCheckedContinuation { continuation in
            _ = WebSocketHandle.connect(
                to: url, options: Measure.options,
                handler: EchoBench(size: size, count: count) { continuation.resume(returning: $0) })
        }
        guard let line else { throw Failure("the connection ended before the last round trip") }
        print(line)
    }
}
