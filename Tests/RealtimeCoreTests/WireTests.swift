import Foundation
import Testing

@testable import RealtimeCore

@Suite("§2 The wire") struct WireTests {
    private func isJSON(_ bytes: [UInt8]) -> Bool {
        JSONGrammar.isValid(bytes.span.bytes)
    }

    private func isUTF8(_ bytes: [UInt8]) -> Bool {
        UTF8Check.isValid(bytes.span.bytes)
    }

    private func envelope(_ text: String) throws(Envelope.Rejection) -> Envelope {
        let bytes = Array(text.utf8)
        return try Envelope(scanning: bytes.span.bytes)
    }

    private func data(_ text: String) throws -> (text: String, json: String?) {
        let bytes = Array(text.utf8)
        let envelope = try Envelope(scanning: bytes.span.bytes)
        return (
            String(decoding: envelope.data.text(in: bytes.span.bytes), as: UTF8.self),
            envelope.data.json(in: bytes.span.bytes).map { String(decoding: $0.text, as: UTF8.self) }
        )
    }

    @Test(
        "L1 string data is parsed where it parses, and is itself where it does not",
        arguments: [
            (#""hello""#, "hello", #""hello""#), (#""\"hi\"""#, #""hi""#, #""hi""#), (#""""#, "", #""""#),
            (#""7""#, "7", "7"), (#""null""#, "null", "null"), (#""{bad""#, "{bad", #""{bad""#),
            (#""{\"a\": 1}""#, #"{"a": 1}"#, #"{"a": 1}"#),
            (#"{"a": [1, 2]}"#, #"{"a": [1, 2]}"#, #"{"a": [1, 2]}"#),
            ("7", "7", "7"), ("null", "null", "null"),
            (#""\u20ac\ud83d\ude00""#, "€😀", #""\u20ac\ud83d\ude00""#),
        ])
    func doubleEncoded(value: String, text: String, json: String) throws {
        let result = try data(#"{"event":"x","channel":"c","data":\#(value)}"#)
        #expect(result.text == text)
        #expect(result.json == json)
    }

    @Test("L1 absent data is no data")
    func absent() throws {
        #expect(try data(#"{"event":"x"}"#).json == nil)
    }

    @Test("L3 numbers keep every digit")
    func numbers() throws {
        let text = #"{"id":9007199254740993,"u":18446744073709551615,"d":0.1,"e":1e400}"#
        #expect(try data(#"{"event":"x","data":\#(text)}"#).text == text)
        let value = try #require(JSONValue(parsing: Array(text.utf8)))
        #expect(value["id"]?.integer == 9_007_199_254_740_993)
        #expect(value["u"]?.identifier == "18446744073709551615")
        #expect(value["u"]?.integer == nil)
        #expect(value["d"]?.double == 0.1)
        #expect(value["e"]?.double == nil)
        #expect(value["e"]?.numberText == "1e400")
        #expect(value["none"] == nil)
    }

    @Test("duplicate keys: the last one counts; escapes in keys and values are resolved")
    func keys() throws {
        let text =
            #" { "event":"a", "\u0065vent" : "b\n" ,"data":1,"data":2,"x":{"event":"no"},"channel":null } "#
        let bytes = Array(text.utf8)
        let envelope = try envelope(text)
        let event = envelope.event.string(in: bytes.span.bytes)
        #expect(event == "b\n")
        #expect(envelope.channel == nil)
        let data = envelope.data.text(in: bytes.span.bytes)
        #expect(data == Array("2".utf8))
    }

    @Test(
        "what is not of the protocol is rejected with its reason",
        arguments: [
            ("", Envelope.Rejection.notJSON), ("[]", .notObject), ("7", .notObject), ("{}", .noEvent),
            (#"{"event":7}"#, .noEvent), (#"{"event":"x","event":null}"#, .noEvent),
            (#"{"event":"x"}}"#, .notJSON),
            (#"{"event":"x",}"#, .notJSON), (#"{"event":"x""#, .notJSON), (#"{'event':"x"}"#, .notJSON),
            (#"{"event":"x","channel":7}"#, .channelNotString), ("\u{FEFF}{\"event\":\"x\"}", .notJSON),
            ("{\"event\":\"a\u{1}\"}", .notJSON), (#"{"event":"x","data":01}"#, .notJSON),
        ])
    func rejected(text: String, reason: Envelope.Rejection) {
        #expect(throws: reason) { try envelope(text) }
    }

    @Test("ignored messages are counted and the connection goes on; binary JSON counts as text")
    func ignored() {
        var client = Client.connected()
        client.subscribe("c")
        client.ok("c")
        #expect(client.receive("{bad") == [.ignoredMessage("a message that is not valid JSON")])
        #expect(
            client.receive([0xFF, 0x00], isText: false) == [
                .ignoredMessage("a binary message that is not UTF-8")
            ])
        #expect(client.machine.ignoredMessageCount == 2)
        client.receive(Array(#"{"event":"x","channel":"c","data":"é"}"#.utf8), isText: false)
        #expect(client.event != nil)
        #expect(client.machine.phase == .connected)
    }

    @Test("nesting is limited without recursion")
    func depth() {
        func nested(_ depth: Int) -> [UInt8] {
            Array(String(repeating: "[", count: depth).utf8)
                + Array(String(repeating: "]", count: depth).utf8)
        }
        #expect(isJSON(nested(512)))
        #expect(!isJSON(nested(513)))
        #expect(!isJSON(nested(1_000_000)))
        let open = Array(String(repeating: #"{"a":["#, count: 200_000).utf8)
        #expect(!isJSON(open))
    }

    @Test(
        "the grammar agrees with an independent parser on good and bad samples",
        arguments: [
            "0", "-0", "-", "1.", ".5", "1.5", "1e5", "1E+5", "1e", "1e-", "00", "-01", "+1", "0x1", "NaN",
            "true", "tru",
            "truee", "null", "nul", #""""#, #"""#, #""\"#, #""\x""#, #""\u12""#, #""\u12g4""#, #""\u00e9""#,
            "\"\t\"",
            "\"\u{7f}\"", "[]", "[", "]", "[,1]", "[1 2]", "[1,2]", " [ 1 , 2 ] ", "{}", "{", "}", #"{"a"}"#,
            #"{"a":}"#, #"{"a":1 "b":2}"#, #"{"a":1,"b":[{}]}"#, #"{1:2}"#, #"[{"a":[1,{"b":null}]}]"#, "[}",
            "{]", "1 2", "\u{FEFF}1x", "\n1\r\t ", "[1]]", #"{"a":1}{"#, "'a'", "[\"a\",\"\\ud83d\\ude00\"]",
            "\u{A0}1",
        ])
    func differential(text: String) {
        let bytes = Array(text.utf8)
        let foundation =
            (try? JSONSerialization.jsonObject(with: Data(bytes), options: [.fragmentsAllowed])) != nil
        #expect(isJSON(bytes) == foundation, "\(text)")
    }

    @Test(
        "RFC 8259 §4 and §5: no trailing commas, which some parsers let pass",
        arguments: ["[1,]", #"{"a":1,}"#])
    func trailingCommas(text: String) {
        #expect(!isJSON(Array(text.utf8)))
    }

    @Test("strings that are encoded come back from an independent parser as they were")
    func encoding() throws {
        let strings = [
            "", "a\"b\\c/d", "\u{0}\u{1}\u{1F}\n\r\t", "é€😀", "\u{2028}", "private-a\",\"auth\":\"x",
        ]
        for string in strings {
            let frame = FrameEncoder.subscribe(channel: string, auth: string, memberData: string)
            let object = try JSONSerialization.jsonObject(with: Data(frame)) as? [String: Any]
            let data = object?["data"] as? [String: String]
            #expect(data == ["channel": string, "auth": string, "member_data": string])
            let value = try #require(JSONValue(parsing: frame))
            #expect(value["data"]?["auth"]?.string == string)
        }
    }

    @Test("objects and arrays are walked in order")
    func walking() throws {
        let value = try #require(
            JSONValue(parsing: Array(#" { "a" : [ 1 , "x" , {} , [] ] , "b" : null } "#.utf8)))
        #expect(value.members?.map { $0.0 } == ["a", "b"])
        #expect(
            value["a"]?.elements?.map { String(decoding: $0.text, as: UTF8.self) } == [
                "1", #""x""#, "{}", "[]",
            ])
        #expect(value["b"]?.textUnlessNull == nil)
        #expect(value["a"]?.string == nil)
        #expect(JSONValue(parsing: Array("{}".utf8))?.members?.isEmpty == true)
    }

    @Test("garbage never traps: mutated messages, cut anywhere")
    func garbage() {
        let seed: UInt64 = 0xB1D
        var random = SeededGenerator(seed: seed)
        let samples = [
            #"{"event":"bird:connection_established","data":"{\"connection_id\":\"1.1\",\"activity_timeout\":120}"}"#,
            #"{"event":"bird_internal:subscription_succeeded","channel":"presence-p","data":{"presence":{"ids":["1",2],"hash":{"1":{"a":[1e5]}},"count":2}}}"#,
            #"{"event":"bird:error","data":{"code":4001,"message":"\u00e9\ud83d"}}"#,
            #"{"event":"bird:signin_success","data":{"member_data":"{\"member_id\":7,\"member_info\":{}}"}}"#,
            #"{"event":"bird_internal:watchlist_events","data":{"events":[{"name":"online","member_ids":[1]}]}}"#,
        ]
        let alphabet = Array(#"{}[]",:\u0123eE+-.ntf ab"#.utf8) + [0, 0x1F, 0x80, 0xC3, 0xED, 0xF4, 0xFF]
        for _ in 0..<4000 {
            var client = Client.connected()
            client.subscribe("presence-p")
            client.authorize(client.requests[0].tag, memberData: "{}")
            client.signin(1)
            client.authorizeMember(client.memberRequests[0].tag)
            for _ in 0..<4 {
                var bytes = Array(samples.randomElement(using: &random)?.utf8 ?? "".utf8)
                for _ in 0..<Int.random(in: 0..<6, using: &random) where !bytes.isEmpty {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: bytes[place] = alphabet.randomElement(using: &random) ?? 0
                    case 1: bytes.remove(at: place)
                    case 2: bytes.insert(alphabet.randomElement(using: &random) ?? 0, at: place)
                    default: bytes.removeLast(bytes.count - place)
                    }
                }
                client.receive(bytes, isText: Bool.random(using: &random))
                if let event = client.event { _ = event.data.json(in: bytes.span.bytes)?.members }
            }
        }
    }

    @Test("UTF-8 of binary messages agrees with the standard library on every short sequence")
    func utf8() {
        var random = SeededGenerator(seed: 7)
        let interesting: [UInt8] = [
            0, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0,
            0xF1, 0xF4, 0xF5, 0xFF,
        ]
        for _ in 0..<50_000 {
            let bytes = (0..<Int.random(in: 0..<6, using: &random)).map { _ in
                interesting.randomElement(using: &random) ?? 0
            }
            #expect(isUTF8(bytes) == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
        }
    }
}
