import Testing
import WebSocketCore
import WebSocketDeflate

@Suite("Compressed, a client and a server understand each other")
struct DeflateRoundTripTests {
    @Test(
        "Random agreements, messages, fragments and cuts", .timeLimit(.minutes(2)), arguments: UInt64(1)...20)
    func random(seed: UInt64) throws {
        var random = Seeded(seed)
        let fresh = (Bool.random(using: &random), Bool.random(using: &random))
        let bits = (Int.random(in: 8...15, using: &random), Int.random(in: 8...15, using: &random))
        let agree: (inout DeflateParameters) -> Void = {
            ($0.clientNoContextTakeover, $0.serverNoContextTakeover) = fresh
            ($0.clientMaxWindowBits, $0.serverMaxWindowBits) = bits
        }
        let threshold = [0, 50, 256].randomElement(using: &random) ?? 0
        let client = Endpoint(deflating: .client, threshold: threshold, agree)
        let server = Endpoint(deflating: .server, threshold: threshold, agree)
        for (from, to) in [(client, server), (server, client), (client, server)] {
            var sent: [Seen] = []
            for _ in 0..<40 {
                switch Int.random(in: 0..<3, using: &random) {
                case 0:
                    let text = random.text(Int.random(in: 0...600, using: &random))
                    try from.send(text)
                    sent.append(.text(text))
                case 1:
                    let count = Int.random(in: 0...3000, using: &random)
                    let bytes =
                        Bool.random(using: &random)
                        ? random.bytes(count) : [UInt8](repeating: 3, count: count)
                    try from.send(.binary, bytes)
                    sent.append(.binary(bytes))
                default:
                    let text = random.text(Int.random(in: 1...200, using: &random))
                    let pieces = random.cut(Array(text.utf8), atMost: 60)
                    for (index, piece) in pieces.enumerated() {
                        try from.sendPiece(
                            .text, Array(piece), isFirst: index == 0, isFinal: index == pieces.count - 1)
                    }
                    sent.append(.text(text))
                }
            }
            let seen = to.receive(pieces: random.cut(from.written(), atMost: 900))
            #expect(seen == sent, "seed \(seed)")
        }
    }

    @Test("Every cut of compressed frames gives the same", arguments: [Role.client, .server])
    func everyCut(role: Role) throws {
        let from = Endpoint(deflating: role == .client ? .server : .client)
        try from.send("Hello, hello, hello €")
        try from.sendPiece(.text, Array("pieces of ".utf8), isFirst: true)
        try from.sendPiece(.text, [])
        try from.sendPiece(.text, Array("hello".utf8))
        try from.sendPiece(.text, [], isFinal: true)
        try from.send("")
        try from.send(.binary, [UInt8](repeating: 1, count: 500))
        let wire = from.written()
        let expected: [Seen] = [
            .text("Hello, hello, hello €"), .text("pieces of hello"), .text(""),
            .binary([UInt8](repeating: 1, count: 500)),
        ]
        for cut in 0...wire.count {
            let seen = Endpoint(deflating: role).receive(pieces: [wire[..<cut], wire[cut...]])
            #expect(seen == expected, "cut at \(cut)")
        }
        let single = wire.indices.map { wire[$0...$0] }
        #expect(Endpoint(deflating: role).receive(pieces: single) == expected)
    }

    @Test("A large message that hardly compresses", .timeLimit(.minutes(2)))
    func large() throws {
        var random = Seeded(3)
        let block = random.bytes(50_000)
        let message = (0..<40).flatMap { _ in block }
        let from = Endpoint(deflating: .client)
        let to = Endpoint(deflating: .server)
        for _ in 0..<2 {
            try from.send(.binary, message)
            #expect(to.receive(from.written()) == [.binary(message)])
        }
    }

    @Test("Random compressed bytes never trap", .timeLimit(.minutes(2)), arguments: UInt64(1)...8)
    func garbage(seed: UInt64) {
        var random = Seeded(seed)
        var limits = Limits()
        limits.maxMessageBytes = 1 << 16
        for _ in 0..<400 {
            let client = Endpoint(deflating: .client, limits: limits)
            for _ in 0..<4 {
                let bytes = random.bytes(Int.random(in: 0...60, using: &random))
                let seen = client.receive(pieces: random.cut(frame(0xC2, bytes), atMost: 20))
                #expect(seen.count <= 1, "seed \(seed)")
            }
        }
    }

    @Test("Handshake and frames together: what was negotiated is what is used")
    func negotiated() throws {
        var offer = DeflateOptions()
        offer.threshold = 0
        offer.serverMaxWindowBits = 10
        offer.clientNoContextTakeover = true
        var handshake = try ClientHandshake(
            ClientHandshake.Request(host: "h", target: "/", deflate: offer),
            key: [UInt8](repeating: 1, count: 16))
        var listening = ServerHandshake()
        var offset = 0
        let request = try #require(
            try handshake.requestBytes.withUnsafeBytes { try listening.receive($0, at: &offset) })
        let acceptance = try ServerHandshake.accept(request, deflate: offer)
        offset = 0
        let agreement = try #require(
            try acceptance.bytes.withUnsafeBytes { try handshake.receive($0, at: &offset) })
        let agreed = try #require(agreement.deflate)
        #expect(
            agreed == acceptance.deflate && agreed.serverMaxWindowBits == 10 && agreed.clientNoContextTakeover
        )
        let client = Endpoint(
            compression: PerMessageDeflate(role: .client, agreed: agreed, options: offer))
        let server = Endpoint(
            .server, compression: PerMessageDeflate(role: .server, agreed: agreed, options: offer))
        for text in ["Hello", "Hello", ""] {
            try client.send(text)
            try server.send(text)
            #expect(server.receive(client.written()) == [.text(text)])
            #expect(client.receive(server.written()) == [.text(text)])
        }
    }
}
