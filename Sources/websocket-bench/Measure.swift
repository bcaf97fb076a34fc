import Foundation
import WebSocketClient

/// Clock, CPU time and memory, as every peer of the benchmark takes them.
enum Measure {
    /// Seconds of the monotonic clock.
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    /// User and system time of this process, in seconds.
    static var cpu: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) * 1e-6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    /// Resident memory, in KiB.
    static var residentKiB: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return Int(line.split(whereSeparator: { !$0.isNumber }).first ?? "0") ?? 0
    }

    static var options: WebSocketOptions {
        var options = WebSocketOptions()
        if let file = ProcessInfo.processInfo.environment["BENCH_CA_FILE"] { options.tls.trust = .file(file) }
        return options
    }
}

/// A span of time and of CPU time.
struct Span {
    let start = Measure.now
    let cpuStart = Measure.cpu

    var seconds: Double { Measure.now - start }
    var cpu: Double { Measure.cpu - cpuStart }
}
