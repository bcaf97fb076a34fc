internal import RealtimeCore

/// JSON texts, composed of texts.
enum JSONText {
    static func string(_ value: String) -> String {
        var text: [UInt8] = []
        FrameEncoder.appendString(value, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    static func object(_ members: [(String, String?)]) -> String {
        let present = members.compactMap { key, value in value.map { "\(string(key)):\($0)" } }
        return "{\(present.joined(separator: ","))}"
    }

    static func array(_ elements: [String]) -> String {
        "[\(elements.joined(separator: ","))]"
    }

    static func strings(_ elements: [String]) -> String {
        array(elements.map(string))
    }

    /// A text that is JSON as it is, any other one as a JSON string.
    static func value(of text: String) -> String {
        JSONValue(parsing: Array(text.utf8)) == nil ? string(text) : text
    }
}

/// The messages that the edge sends.
struct EdgeFrame {
    /// `data` goes as a string that holds its JSON text, not as the value itself.
    var encodesDataAsString: Bool

    func event(_ name: String, channel: String? = nil, data: String) -> String {
        JSONText.object([
            ("event", JSONText.string(name)),
            ("channel", channel.map(JSONText.string)),
            ("data", encodesDataAsString ? JSONText.string(data) : JSONText.value(of: data)),
        ])
    }

    func connectionEstablished(connectionID: String, activityTimeout: Int?) -> String {
        event(
            "bird:connection_established",
            data: JSONText.object([
                ("connection_id", JSONText.string(connectionID)),
                ("activity_timeout", activityTimeout.map(String.init)),
            ]))
    }

    /// Errors, pings and pongs carry plain values in either setting: clients have to take both forms.
    static func error(code: Int?, message: String?) -> String {
        let data = JSONText.object([
            ("code", code.map(String.init)), ("message", message.map(JSONText.string)),
        ])
        return #"{"event":"bird:error","data":\#(data)}"#
    }

    static let ping = #"{"event":"bird:ping","data":{}}"#
    static let pong = #"{"event":"bird:pong","data":{}}"#
}
