import BirdRealtime
import Foundation

/// Event data as JSON text.
enum PresenceText {
    /// What came over the wire, digit by digit: the JSON inside a string where there is one, else the string.
    static func json(_ data: EventData) -> String {
        if data.isAbsent { return "null" }
        let text = data.text
        // A value that is a string which holds no JSON is that string.
        if data.value is String, !text.hasPrefix("\"") { return JSONLine.quoted(text) }
        return text.contains { $0.isNewline } ? JSONLine.text(of: data.value) : text
    }

    /// What the library itself makes of presence, and errors.
    static func json(_ event: String, _ value: Any?) -> String {
        switch value {
        case let members as [String: Member]:
            let ids = members.keys.sorted()
            let entries = ids.map { id in
                "\(JSONLine.quoted(id)):\(JSONLine.text(of: members[id]?.memberInfo))"
            }
            return "{\"member_ids\":\(JSONLine.array(ids)),\"members\":{\(entries.joined(separator: ","))}}"
        case let member as Member:
            return "{\"member_id\":\(JSONLine.quoted(member.memberId)),"
                + "\"member_info\":\(JSONLine.text(of: member.memberInfo))}"
        default:
            return JSONLine.text(of: value)
        }
    }
}
