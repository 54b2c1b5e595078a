import Foundation
import MCPKeel

/// A check that did not hold.
struct Failed: LocalizedError {
    let errorDescription: String?

    init(_ why: String) { errorDescription = why }
}

func same<T: Equatable>(_ got: T, _ wanted: T) throws {
    if got != wanted { throw Failed("got \(got), wanted \(wanted)") }
}

struct Person: Codable { let name: String }
struct Pair: Encodable { let a: Int64, b: Int64 }
struct Sum: Decodable { let result: Int64 }

/// The checks in their order.
actor Checks {
    private static let tools: Set = ["echo", "add", "count", "ask_name", "slow", "fail", "chatty"]

    private let target: Target
    private let era: ClientOptions.Mode
    private let options: ClientOptions
    private let sent: AsyncStream<Void>
    private var client: Client?

    init(_ given: Options) {
        (target, era) = (given.target, given.era)
        let (sent, saw) = AsyncStream<Void>.makeStream()
        self.sent = sent
        var options = ClientOptions()
        options.mode = given.era
        options.info = Implementation(name: "keel-fixture-client", version: "1.0.0")
        options.onElicit = { request in
            try same(request.message, "What is your name?")
            return try .accept(Person(name: "Ada"))
        }
        options.trace = { [verbose = given.verbose] direction, message, _ in
            if verbose { FileHandle.standardError.write(Data("\(direction) \(message)\n".utf8)) }
            if direction == ">", message.contains("\"slow\"") { saw.yield() }
        }
        self.options = options
    }

    func run() async -> Bool {
        let checks: [(String, @Sendable (Checks) async throws -> Void)] = [
            ("connect", { try await $0.connect() }), ("tools", { try await $0.tools() }), ("echo", { try await $0.echo() }),
            ("big", { try await $0.big() }), ("progress", { try await $0.progress() }),
            ("elicitation", { try await $0.elicitation() }), ("resource", { try await $0.resource() }),
            ("template", { try await $0.template() }), ("prompt", { try await $0.prompt() }),
            ("completion", { try await $0.completion() }), ("error", { try await $0.error() }),
            ("tool_error", { try await $0.toolError() }), ("cancel", { try await $0.cancel() }), ("close", { try await $0.close() }),
        ]
        var fine = true
        for (name, check) in checks {
            var line: JSON.Object = ["check": .string(name), "ok": true]
            do {
                try await within(seconds: 10) { try await check(self) }
            } catch {
                line = ["check": .string(name), "ok": false, "error": .string("\(type(of: error)): \(error.localizedDescription)")]
                fine = false
            }
            print(JSON.object(line))
            fflush(nil)
        }
        return fine
    }

    private var connected: Client {
        get throws {
            guard let client else { throw Failed("not connected") }
            return client
        }
    }

    private func connect() async throws {
        let client = try await Client.connect(to: target, options: options)
        self.client = client
        if era != .auto { try same(client.era, era.rawValue) }
    }

    private func tools() async throws {
        var found = Set<String>()
        for try await tool in try connected.tools { found.insert(tool.name) }
        let missing = Checks.tools.subtracting(found)
        if !missing.isEmpty { throw Failed("missing \(missing.sorted())") }
    }

    private func echo() async throws {
        let text = "grüß 🦀 \0\n\""
        let result = try await connected.callTool("echo", arguments: ["text": .string(text)]).text
        try same(Array(result.utf8), Array(text.utf8))
    }

    private func big() async throws {
        let sum: Sum = try await connected.callTool("add", arguments: Pair(a: 9_007_199_254_740_993, b: 1)).decode()
        try same(sum.result, 9_007_199_254_740_994)
    }

    private func progress() async throws {
        let (told, tell) = AsyncStream<Double>.makeStream()
        let result = try await connected.callTool("count", arguments: ["to": 3]) { tell.yield($0.progress) }
        tell.finish()
        try same(await told.reduce(into: []) { $0.append($1) }, [1, 2, 3])
        try same(result.text, "counted to 3")
    }

    private func elicitation() async throws {
        try same(try await connected.callTool("ask_name").text, "Hello, Ada!")
    }

    private func resource() async throws {
        try same(try await connected.readResource("memo://greeting").first?.text, "Hello from the fixture")
    }

    private func template() async throws {
        try same(try await connected.readResource("memo://item/7").first?.text, "item 7")
    }

    private func prompt() async throws {
        let messages = try await connected.getPrompt("greet", arguments: ["name": "Ada"]).messages
        try same(messages, [.user("Please greet Ada.")])
    }

    private func completion() async throws {
        try same(try await connected.complete(.prompt("greet"), argument: "name", value: "a").values, ["ada", "alan"])
    }

    private func error() async throws {
        do {
            _ = try await connected.callTool("nope")
        } catch let error as PeerError {
            return try same(error.rpcCode, -32602)
        }
        throw Failed("an unknown tool was called")
    }

    private func toolError() async throws {
        let result = try await connected.callTool("fail")
        try same(result.isError, true)
        if !result.text.contains("it failed") { throw Failed(result.text) }
    }

    private func cancel() async throws {
        let client = try connected
        let call = Task { try await client.callTool("slow", arguments: ["ms": 60000]) }
        for await _ in sent { break }
        call.cancel()
        do {
            let result = try await within(seconds: 1) { try await call.value }
            throw Failed("slow ended: \(result.text)")
        } catch is CancellationError {
        } catch is Cancelled {
        }
        try same(try await client.callTool("echo", arguments: ["text": "after"]).text, "after")
    }

    private func close() async throws {
        try await connected.close()
    }
}

/// The work, or an error when it takes longer.
func within<T: Sendable>(seconds: Double, _ work: @escaping @Sendable () async throws -> T) async throws -> T {
    try await withThrowingTaskGroup(of: T.self) { group in
        group.addTask(operation: work)
        group.addTask {
            try await Task.sleep(for: .seconds(seconds))
            throw Failed("no end within \(seconds) s")
        }
        defer { group.cancelAll() }
        return try await group.next()!
    }
}
