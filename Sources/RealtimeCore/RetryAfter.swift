/// The value of a `Retry-After` field; RFC 9110 §10.2.3.
package enum RetryAfter {
    /// The wait that the value asks for; nil for a value that is neither seconds nor a date to come.
    ///
    /// - Parameter unixTime: the wall clock, in seconds since 1970, for values that are dates.
    package static func parse(_ value: String, unixTime: Int64) -> Duration? {
        let text = value.utf8.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
        if !text.isEmpty, text.allSatisfy(isDigit) {
            // More than nine digits are decades: the cap of the schedule applies either way.
            return .seconds(text.count > 9 ? 999_999_999 : number(Array(text)) ?? 0)
        }
        guard let date = date(Array(text)), date > unixTime else { return nil }
        return .seconds(date - unixTime)
    }

    /// RFC 9110 §5.6.7: the fixed-length form, `Sun, 06 Nov 1994 08:49:37 GMT`, the only one that may be sent today.
    private static func date(_ text: [UInt8]) -> Int64? {
        guard text.count == 29, Array(text[3..<5]) == Array(", ".utf8),
            Array(text[25...]) == Array(" GMT".utf8),
            text[7] == 0x20, text[11] == 0x20, text[16] == 0x20,
            text[19] == UInt8(ascii: ":"), text[22] == UInt8(ascii: ":"),
            let day = number(text[5..<7]), (1...31).contains(day), let month = month(text[8..<11]),
            let year = number(text[12..<16]), let hour = number(text[17..<19]), hour < 24,
            let minute = number(text[20..<22]), minute < 60, let second = number(text[23..<25]), second <= 60
        else { return nil }
        return days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
    }

    /// Days since 1 January 1970 in the Gregorian calendar: years begin in March, so the leap day comes last.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }

    private static func month(_ text: ArraySlice<UInt8>) -> Int64? {
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        return names.firstIndex { $0.utf8.elementsEqual(text) }.map { Int64($0) + 1 }
    }

    /// A short run of digits.
    private static func number(_ digits: some Collection<UInt8>) -> Int64? {
        guard digits.count <= 9, digits.allSatisfy(isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09
    }
}
