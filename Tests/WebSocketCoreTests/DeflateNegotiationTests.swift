import Testing
import WebSocketCore

@Suite("permessage-deflate is negotiated, RFC 7692 §5, §7.1")
struct DeflateNegotiationTests {
    static func options(_ change: (inout DeflateOptions) -> Void = { _ in }) -> DeflateOptions {
        var options = DeflateOptions()
        change(&options)
        return options
    }

    /// What the client makes of an answer to its offer; nil where it refuses.
    static func agreement(_ answer: String, to options: DeflateOptions = options()) -> DeflateParameters? {
        guard let list = ExtensionList(answer), let element = list.elements.first else { return nil }
        return try? options.agreement(to: element)
    }

    /// The server's choice among offers.
    static func accepted(_ offers: String, by options: DeflateOptions = options()) -> String? {
        ExtensionList(offers).flatMap { options.accept($0)?.answer }
    }

    static func parameters(_ change: (inout DeflateParameters) -> Void = { _ in }) -> DeflateParameters {
        var parameters = DeflateParameters()
        change(&parameters)
        return parameters
    }

    @Test("The list's grammar (RFC 6455 §9.1)")
    func grammar() throws {
        let list = try #require(ExtensionList(" foo , , bar; a ; b = 1;c=\"x\\y\",\tbaz"))
        #expect(list.elements.map(\.name) == ["foo", "bar", "baz"])
        #expect(list.elements[1].parameters.map(\.name) == ["a", "b", "c"])
        #expect(list.elements[1].parameters.map(\.value) == [nil, "1", "xy"])
        #expect(ExtensionList("")?.elements.isEmpty == true)
        for bad in [
            ";", "a;", "a;;b", "a;b=", "a;b=\"", "a;b=\"\"", "a;b=\"x y\"", "a b", "a=1", "a;b=\"x\\", "é",
        ] {
            #expect(ExtensionList(bad) == nil, "\(bad)")
        }
    }

    @Test("What is offered")
    func offers() {
        #expect(Self.options().offer == "permessage-deflate; client_max_window_bits")
        let bare = Self.options { $0.offersClientMaxWindowBits = false }
        #expect(bare.offer == "permessage-deflate")
        let all = Self.options {
            $0.serverNoContextTakeover = true
            $0.clientNoContextTakeover = true
            $0.serverMaxWindowBits = 9
            $0.clientMaxWindowBits = 10
        }
        #expect(
            all.offer == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                + "server_max_window_bits=9; client_max_window_bits=10")
    }

    @Test("Answers the client takes")
    func takenAnswers() {
        #expect(Self.agreement("permessage-deflate") == Self.parameters())
        #expect(
            Self.agreement("permessage-deflate; server_no_context_takeover; client_no_context_takeover")
                == Self.parameters {
                    $0.serverNoContextTakeover = true
                    $0.clientNoContextTakeover = true
                })
        for bits in 8...15 {
            // D2: a smaller window may be announced unasked (§7.1.2.1).
            #expect(
                Self.agreement("permessage-deflate; server_max_window_bits=\(bits)")
                    == Self.parameters { $0.serverMaxWindowBits = bits })
            #expect(
                Self.agreement("permessage-deflate;client_max_window_bits = \"\(bits)\"")
                    == Self.parameters { $0.clientMaxWindowBits = bits })
        }
    }

    @Test(
        "D2: answers the client refuses",
        arguments: [
            "server_max_window_bits=7", "server_max_window_bits=16", "server_max_window_bits=20",
            "server_max_window_bits=08", "server_max_window_bits=07", "server_max_window_bits",
            "server_max_window_bits=+9", "server_max_window_bits=-9", "server_max_window_bits=\"09\"",
            "server_max_window_bits=99999999999999999999", "server_max_window_bits=9.0",
            "server_max_window_bits=9; server_max_window_bits=9", "client_max_window_bits",
            "client_max_window_bits=7", "client_max_window_bits=010", "server_no_context_takeover=1",
            "server_no_context_takeover; server_no_context_takeover", "client_no_context_takeover=true",
            "foo",
            "foo=1", "Server_No_Context_Takeover=x",
        ])
    func refusedAnswers(parameters: String) {
        #expect(Self.agreement("permessage-deflate; " + parameters) == nil)
    }

    @Test("D2: a window for the client that was not offered, or larger than offered")
    func unofferedClientWindow() {
        let bare = Self.options { $0.offersClientMaxWindowBits = false }
        #expect(Self.agreement("permessage-deflate; client_max_window_bits=15", to: bare) == nil)
        let ten = Self.options { $0.clientMaxWindowBits = 10 }
        #expect(Self.agreement("permessage-deflate; client_max_window_bits=11", to: ten) == nil)
        #expect(
            Self.agreement("permessage-deflate; client_max_window_bits=9", to: ten)?.clientMaxWindowBits == 9)
        #expect(Self.agreement("permessage-deflate", to: ten)?.clientMaxWindowBits == 10)
    }

    @Test("What was asked of the server must be in its answer (§7.1.1.1, §7.1.2.1)")
    func ignoredDemands() {
        let fresh = Self.options { $0.serverNoContextTakeover = true }
        #expect(Self.agreement("permessage-deflate", to: fresh) == nil)
        #expect(Self.agreement("permessage-deflate; server_no_context_takeover", to: fresh) != nil)
        let ten = Self.options { $0.serverMaxWindowBits = 10 }
        #expect(Self.agreement("permessage-deflate", to: ten) == nil)
        #expect(Self.agreement("permessage-deflate; server_max_window_bits=11", to: ten) == nil)
        #expect(Self.agreement("permessage-deflate; server_max_window_bits=10", to: ten) != nil)
        #expect(Self.agreement("permessage-deflate; server_max_window_bits=8", to: ten) != nil)
    }

    @Test("The client's own promise holds, whether the server repeats it or not (§7.1.1.2)")
    func ownPromise() {
        let fresh = Self.options { $0.clientNoContextTakeover = true }
        #expect(Self.agreement("permessage-deflate", to: fresh)?.clientNoContextTakeover == true)
    }

    @Test(
        "The server takes the first offer it can",
        arguments: [
            ("permessage-deflate", "permessage-deflate"),
            ("x, permessage-deflate; foo, permessage-deflate", "permessage-deflate"),
            (
                "permessage-deflate; server_max_window_bits=7, permessage-deflate; server_max_window_bits=10",
                "permessage-deflate; server_max_window_bits=10"
            ),
            (
                "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
                "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
            ),
            ("permessage-deflate; client_max_window_bits", "permessage-deflate"),
            (
                "permessage-deflate; client_max_window_bits=9",
                "permessage-deflate; client_max_window_bits=9"
            ),
            (
                "permessage-deflate; server_max_window_bits=15",
                "permessage-deflate; server_max_window_bits=15"
            ),
            ("x-webkit-deflate-frame", nil), ("", nil), ("permessage-deflate; foo", nil),
            ("permessage-deflate; client_no_context_takeover=1", nil),
            ("permessage-deflate; client_max_window_bits=16", nil),
            ("permessage-deflate; client_max_window_bits; client_max_window_bits", nil),
        ] as [(String, String?)])
    func serverChoice(offers: String, answer: String?) {
        #expect(Self.accepted(offers) == answer)
    }

    @Test(
        "The server's own options: it may narrow windows, the client's only where it was offered (§7.1.2.2)")
    func serverOptions() {
        let narrow = Self.options {
            $0.serverMaxWindowBits = 11
            $0.clientMaxWindowBits = 10
            $0.serverNoContextTakeover = true
            $0.clientNoContextTakeover = true
        }
        #expect(
            Self.accepted("permessage-deflate; client_max_window_bits=12", by: narrow)
                == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                + "server_max_window_bits=11; client_max_window_bits=10")
        #expect(
            Self.accepted("permessage-deflate", by: narrow)
                == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                + "server_max_window_bits=11")
    }

    @Test("Whatever two sides of ours choose, both understand the same")
    func everyCombination() throws {
        let windows: [Int?] = [nil, 8, 9, 12, 15]
        for bits in windows {
            for other in windows {
                for flags in 0..<16 {
                    let client = Self.options {
                        $0.clientMaxWindowBits = bits
                        $0.serverMaxWindowBits = other
                        $0.clientNoContextTakeover = flags & 1 != 0
                        $0.serverNoContextTakeover = flags & 2 != 0
                    }
                    let server = Self.options {
                        $0.clientMaxWindowBits = other
                        $0.serverMaxWindowBits = bits
                        $0.clientNoContextTakeover = flags & 4 != 0
                        $0.serverNoContextTakeover = flags & 8 != 0
                    }
                    let list = try #require(ExtensionList(client.offer))
                    let choice = try #require(server.accept(list))
                    #expect(Self.agreement(choice.answer, to: client) == choice.agreed)
                }
            }
        }
    }
}
