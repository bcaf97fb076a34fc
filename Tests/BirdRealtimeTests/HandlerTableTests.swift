import Testing

@testable import BirdRealtime

@Suite struct HandlerTableTests {
    let table = HandlerTable()
    let heard = Heard<String>()

    func fire(_ event: String, _ value: Any? = nil) {
        EventDelivery(
            handlers: table, name: event,
            payload: .local(EventDelivery.LocalValue(value: value), data: .absent), lease: DeliveryLease()
        ).deliver()
    }

    func note(_ text: String) -> Handler { .value { [heard] _ in heard.append(text) } }

    @Test("Global handlers run before named ones, each kind in the order of binding")
    func order() {
        _ = table.bind("e", note("n1"))
        _ = table.bindGlobal(note("g1"))
        _ = table.bind("e", note("n2"))
        _ = table.bindGlobal(note("g2"))
        fire("e")
        #expect(heard.all == ["g1", "g2", "n1", "n2"])
    }

    @Test("A handler bound twice runs twice, and each token removes one of them")
    func twice() {
        let handler = note("x")
        let first = table.bind("e", handler)
        _ = table.bind("e", handler)
        fire("e")
        #expect(heard.count == 2)
        table.unbind("e", first)
        fire("e")
        #expect(heard.count == 3)
    }

    @Test("A token of another event removes nothing")
    func wrongEvent() {
        let token = table.bind("e", note("x"))
        table.unbind("f", token)
        table.unbindGlobal(token)
        fire("e")
        #expect(heard.count == 1)
    }

    @Test("unbind without a token removes every handler of the event and no other")
    func unbindEvent() {
        _ = table.bind("e", note("e"))
        _ = table.bind("e", note("e"))
        _ = table.bind("f", note("f"))
        _ = table.bindGlobal(note("g"))
        table.unbind("e", nil)
        fire("e")
        fire("f")
        #expect(heard.all == ["g", "g", "f"])
    }

    @Test("M1: inside a handler: remove oneself and others, bind another")
    func reentrance() {
        let (table, heard) = (table, heard)
        let tokens = Heard<BindingToken>()
        tokens.append(
            table.bind(
                "e",
                .value { _ in
                    heard.append("self")
                    table.unbind("e", tokens.all[0])
                    table.unbind("e", tokens.all[1])
                    _ = table.bind("e", .value { _ in heard.append("new") })
                }))
        tokens.append(table.bind("e", note("removed")))
        _ = table.bind("e", note("stays"))
        fire("e")
        #expect(heard.all == ["self", "stays"])
        fire("e")
        #expect(heard.all == ["self", "stays", "stays", "new"])
    }

    @Test("A dead table takes nothing and calls nobody")
    func dead() {
        _ = table.bind("e", note("x"))
        table.kill()
        _ = table.bind("e", note("y"))
        _ = table.bindGlobal(note("z"))
        fire("e")
        #expect(heard.count == 0)
        #expect(!table.wants("e"))
    }
}
