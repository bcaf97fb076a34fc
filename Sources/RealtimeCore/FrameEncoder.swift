/// The messages that the client sends.
package enum FrameEncoder {
    package static let ping = Array(#"{"event":"bird:ping","data":{}}"#.utf8)
    package static let pong = Array(#"{"event":"bird:pong","data":{}}"#.utf8)

    package static func subscribe(channel: String, auth: String?, memberData: String?) -> [UInt8] {
        var text = Array(#"{"event":"bird:subscribe","data":{"channel":"#.utf8)
        appendString(channel, to: &text)
        appendMember("auth", auth, to: &text)
        appendMember("member_data", memberData, to: &text)
        text.append(contentsOf: "}}".utf8)
        return text
    }

    package static func unsubscribe(channel: String) -> [UInt8] {
        var text = Array(#"{"event":"bird:unsubscribe","data":{"channel":"#.utf8)
        appendString(channel, to: &text)
        text.append(contentsOf: "}}".utf8)
        return text
    }

    package static func signin(_ authorization: MemberAuthorization) -> [UInt8] {
        var text = Array(#"{"event":"bird:signin","data":{"auth":"#.utf8)
        appendString(authorization.auth, to: &text)
        appendMember("member_data", authorization.memberData, to: &text)
        text.append(contentsOf: "}}".utf8)
        return text
    }

    /// `data` is JSON text, embedded as the value that it is and never as a string of it.
    package static func clientEvent(_ event: String, channel: String, data: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(event.utf8.count + channel.utf8.count + data.count + 48)
        text.append(contentsOf: #"{"event":"#.utf8)
        appendString(event, to: &text)
        appendMember("channel", channel, to: &text)
        text.append(contentsOf: #","data":"#.utf8)
        text.append(contentsOf: data)
        text.append(UInt8(ascii: "}"))
        return text
    }

    private static func appendMember(_ key: String, _ value: String?, to text: inout [UInt8]) {
        guard let value else { return }
        text.append(UInt8(ascii: ","))
        appendString(key, to: &text)
        text.append(UInt8(ascii: ":"))
        appendString(value, to: &text)
    }

    /// RFC 8259 §7: quotes, backslashes and control characters are escaped, all else goes as it is.
    package static func appendString(_ string: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                text.append(UInt8(ascii: "\\"))
                text.append(byte)
            case 0x0A: text.append(contentsOf: #"\n"#.utf8)
            case 0x0D: text.append(contentsOf: #"\r"#.utf8)
            case 0x09: text.append(contentsOf: #"\t"#.utf8)
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                text.append(contentsOf: #"\u00"#.utf8)
                text.append(digits[Int(byte >> 4)])
                text.append(digits[Int(byte & 15)])
            default: text.append(byte)
            }
        }
        text.append(UInt8(ascii: "\""))
    }
}
