import Testing

@testable import RealtimeCore

@Suite("Channels by the bytes of their name") struct SubscriptionTableTests {
    @Test(
        "names are found and lost as in a dictionary, also when every hash collides",
        arguments: [0, 3, UInt64.max])
    func likeDictionary(mask: UInt64) {
        let seed: UInt64 = 42
        var random = SeededGenerator(seed: seed)
        var table = SubscriptionTable(hashMask: mask)
        var model: [String: ChannelID] = [:]
        for _ in 0..<3000 {
            let name = "channel-\(Int.random(in: 0..<12, using: &random))"
            let bytes = Array("  \(name) ".utf8)
            let slice = JSONStringSlice(range: 2..<bytes.count - 1, hasEscapes: false)
            let found = table.named(slice, in: bytes.span.bytes)?.id
            #expect(found == model[name], "seed \(seed)")
            #expect(table.named(name)?.id == model[name], "seed \(seed)")
            if let id = model[name], Bool.random(using: &random) {
                table.remove(id)
                model[name] = nil
                #expect(table[id] == nil)
            } else if model[name] == nil {
                model[name] = table.add(name).id
            }
            #expect(table.all.map(\.id.rawValue) == model.values.map(\.rawValue).sorted(), "seed \(seed)")
        }
    }
}
