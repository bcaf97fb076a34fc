import Foundation
import RealtimeCore
import Testing

@testable import BirdRealtime

@Suite struct EventDataTests {
    /// The data of a message whose `data` stands there literally.
    func data(_ literal: String?) throws -> BirdRealtimeEventData {
        let text =
            literal.map { #"{"event":"e","channel":"c","data":\#($0)}"# } ?? #"{"event":"e","channel":"c"}"#
        let bytes = Array(text.utf8)
        let envelope = try Envelope(scanning: bytes.span.bytes)
        return BirdRealtimeEventData(envelope.data, in: bytes.span.bytes)
    }

    @Test(
        "L1: every form of data gives its value, its text and its raw bytes",
        arguments: [
            (#""hello""#, "hello", "hello"),
            (#""\"hi\"""#, #""hi""#, "hi"),
            (#""""#, "", ""),
            (#""7""#, "7", "7"),
            (#""null""#, "null", "<null>"),
            (#""{bad""#, "{bad", "{bad"),
            (#""{\"a\":1}""#, #"{"a":1}"#, #"["a": 1]"#),
            ("7", "7", "7"),
            ("true", "true", "1"),
        ])
    func forms(literal: String, text: String, value: String) throws {
        let data = try data(literal)
        #expect(String(decoding: data.rawBytes, as: UTF8.self) == literal)
        #expect(data.text == text)
        #expect(!data.isAbsent)
        #expect(described(data.value).replacingOccurrences(of: "AnyHashable(\"a\")", with: "\"a\"") == value)
    }

    @Test("Absent data is nil, and so are its bytes")
    func absent() throws {
        let data = try data(nil)
        #expect(data.isAbsent && data.value == nil && data.text.isEmpty)
    }

    @Test("Numbers cast to every number type, as JSONSerialization's do")
    func numbers() throws {
        let value = try data(#""{\"n\":3}""#).value as? [String: Any]
        #expect(value?["n"] as? Int == 3)
        #expect(value?["n"] as? Double == 3)
        #expect(try data("3").value as? Double == 3)
        #expect(try data(#""null""#).value is NSNull)
    }

    @Test("L3: 64-bit integers are exact, text is byte-equal, a number too large does not trap")
    func exact() throws {
        struct Wide: Decodable, Equatable {
            var id: Int64
            var u: UInt64
            var d: Double
        }
        let text = #"{"id":9007199254740993,"u":18446744073709551615,"d":0.1}"#
        let data = try data("\"" + text.replacingOccurrences(of: "\"", with: "\\\"") + "\"")
        #expect(data.text == text)
        #expect(data.integer(at: "id") == 9_007_199_254_740_993)
        #expect(data.integer(at: "u", as: UInt64.self) == .max)
        #expect(data.integer(at: "u") == nil)
        #expect(data.integer(at: "d") == nil)
        #expect(try data.decode(as: Wide.self) == Wide(id: 9_007_199_254_740_993, u: .max, d: 0.1))

        let huge = try self.data(#"{"e":1e400}"#)
        #expect(huge.text == #"{"e":1e400}"#)
        #expect(huge.value != nil)
    }

    @Test("A string that holds no JSON decodes as String")
    func plainString() throws {
        #expect(try data(#""hello""#).decode(as: String.self) == "hello")
        #expect(throws: (any Error).self) { try data(#""hello""#).decode(as: Int.self) }
    }

    @Test("Values without a JSON form are refused before Foundation sees them")
    func encoding() {
        #expect(JSONText.bytes(of: nil) == Array("null".utf8))
        #expect(JSONText.bytes(of: ["a": 1]) == Array(#"{"a":1}"#.utf8))
        #expect(JSONText.bytes(of: "x") == Array(#""x""#.utf8))
        #expect(JSONText.bytes(of: Double.nan) == nil)
        #expect(JSONText.bytes(of: ["d": Date()]) == nil)
    }
}

/// RealtimeCore has a type of the same name for data inside a message.
typealias BirdRealtimeEventData = ChannelEvent.DataType
