import Testing

@testable import RealtimeCore

@Suite("RFC 9110 §10.2.3 Retry-After") struct RetryAfterTests {
    /// 6 November 1994, 08:49:30 UTC.
    private let now: Int64 = 784_111_770

    @Test(
        "A6 seconds, dates to come, and values that ask for nothing",
        arguments: [
            ("7", 7), (" 120 ", 120), ("0", 0), ("99999999", 99_999_999),
            ("99999999999999999999999", 999_999_999),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 7), ("Thu, 29 Feb 1996 00:00:00 GMT", 41_440_230),
            ("-1", nil), ("abc", nil), ("", nil), ("1.5", nil), ("+3", nil),
            ("Sun, 06 Nov 1994 08:49:29 GMT", nil),
            ("Sun, 06 Nov 1994 25:49:37 GMT", nil), ("Sun, 06 Foo 1994 08:49:37 GMT", nil),
            ("€€€€€€€€€", nil),
        ] as [(String, Int64?)])
    func values(value: String, seconds: Int64?) {
        #expect(RetryAfter.parse(value, unixTime: now) == seconds.map { .seconds($0) })
    }
}
