import Foundation
import Testing

@testable import MCPKeel

struct Oops: LocalizedError { let errorDescription: String? = "it went wrong" }
struct Name: Codable { let name: String }
struct Sum: Codable, Equatable { let sum: Int }

func failure(_ body: () async throws -> Void) async -> (any Error)? {
    do {
        try await body()
        return nil
    } catch {
        return error
    }
}

/// A server with something of everything.
func sampler() -> Server {
    let server = Server("sampler", version: "1.0")
    server.tool("hello", "Greets.") { (who: Name, _) in "Hello, \(who.name)!" }
    server.tool("sum") { (numbers: [String: Int], _) in Sum(sum: numbers.values.reduce(0, +)) }
    server.tool("oops") { _ -> String in throw Oops() }
    server.tool("refused") { _ -> String in throw PeerError("not today", rpcCode: -32099, data: ["why": "rain"]) }
    server.tool("bad", output: ["type": "object", "required": ["x"]]) { _ in ToolResult([], structured: ["y": 1]) }
    server.tool("forever") { _ in
        try await Task.sleep(nanoseconds: 3_600_000_000_000)
        return "never"
    }
    server.tool("asks") { context in
        let filled = try await context.elicit("Who?", Name.self)
        let said = try await context.sample("What?")
        let roots = try await context.roots()
        guard case .accepted(let form) = filled else { return "declined" }
        return "\(form.name) \(said.text) \(roots.map(\.uri))"
    }
    server.tool("counts") { context in
        for step in 1...3 { try await context.progress(Double(step), total: 3, message: "step \(step)") }
        try await context.log(.warning, ["a": 1], logger: "l")
        return "done"
    }
    server.tool("who") { context in
        let info = try await context.info
        return "\(info.client?.name ?? "nobody") \(info.progress)"
    }
    server.resource("memo://one", name: "one", mimeType: "text/plain") { _ in "first" }
    server.resource("memo://bytes") { _ in Data([1, 2, 3]) }
    server.resource("memo://item/{id}", name: "item") { variables, _ in "item \(variables["id"] ?? "?")" }
    server.prompt("greet") { (who: Name, _) in [PromptMessage.user("Greet \(who.name)."), .assistant("Hello!")] }
    server.prompt("plain") { _ in "Say something." }
    server.completion { request, _ in ["ada", "alan"].filter { $0.hasPrefix(request.value) } }
    return server
}

@Suite(.timeLimit(.minutes(1))) struct MemoryTests {
    static let eras: [ClientOptions.Mode] = [.legacy, .modern]

    func connect(_ era: ClientOptions.Mode = .auto, to server: Server = sampler(), _ set: (inout ClientOptions) -> Void = { _ in }) async throws -> Client {
        var options = ClientOptions()
        options.mode = era
        set(&options)
        return try await Client.connect(to: .server(server), options: options)
    }

    @Test(arguments: eras) func callsAndLists(era: ClientOptions.Mode) async throws {
        let client = try await connect(era)
        #expect(client.era == era.rawValue)
        #expect(client.serverInfo?.name == "sampler")
        #expect(try await client.callTool("hello", arguments: Name(name: "Ada")).text == "Hello, Ada!")
        let sum = try await client.callTool("sum", arguments: ["a": 1, "b": 2])
        #expect(try sum.decode(as: Sum.self) == Sum(sum: 3))
        #expect(sum.text == #"{"sum":3}"#)
        var names: [String] = []
        for try await tool in client.tools { names.append(tool.name) }
        let listed = try await client.listTools().map(\.name)
        #expect(names == listed)
        #expect(names.first == "hello")
        let schema = try await client.listTools().first { $0.name == "sum" }?.outputSchema
        #expect(schema?["properties"]?["sum"]?["type"] == "integer")
        #expect(try await client.listResources().map(\.uri) == ["memo://one", "memo://bytes"])
        #expect(try await client.listResourceTemplates().map(\.uriTemplate) == ["memo://item/{id}"])
        #expect(try await client.readResource("memo://bytes").first?.bytes == Data([1, 2, 3]))
        #expect(try await client.readResource("memo://item/7").first?.text == "item 7")
        #expect(try await client.listPrompts().first?.arguments.first?.required == true)
        #expect(try await client.getPrompt("greet", arguments: ["name": "Ada"]).messages.map(\.role) == ["user", "assistant"])
        #expect(try await client.getPrompt("plain").messages.first?.content.text == "Say something.")
        #expect(try await client.complete(.prompt("greet"), argument: "name", value: "al").values == ["alan"])
        await client.close()
    }

    @Test(arguments: eras) func failuresAreToldApart(era: ClientOptions.Mode) async throws {
        let reported = Locked<[String]>([])
        var serverOptions = ServerOptions()
        serverOptions.onError = { error, key in reported.with { $0.append("\(key): \(error.localizedDescription)") } }
        let server = Server("s", version: "1", options: serverOptions)
        server.tool("oops") { _ -> String in throw Oops() }
        let client = try await connect(era)
        let failed = try await client.callTool("oops")
        #expect(failed.isError)
        #expect(failed.text == "it went wrong")
        let refused = await failure { _ = try await client.callTool("refused") } as? PeerError
        #expect(refused?.rpcCode == -32099)
        #expect(refused?.data == ["why": "rain"])
        let unknown = await failure { _ = try await client.callTool("nope") } as? PeerError
        #expect(unknown?.rpcCode == -32602)
        let wrong = await failure { _ = try await client.callTool("hello", arguments: ["name": 1]) }
        #expect(wrong is PeerError || wrong == nil)
        let bad = await failure {
            let result = try await client.callTool("bad")
            #expect(result.isError, "\(result)")
        }
        #expect(bad is PeerError || bad == nil, "\(String(describing: bad))")
        #expect(try await client.callTool("hello", arguments: ["name": "B"]).text == "Hello, B!")
        await client.close()

        let other = try await connect(era, to: server)
        _ = try await other.callTool("oops")
        await other.close()
        #expect(reported.with { $0 } == ["tools/call oops: it went wrong"])
    }

    @Test(arguments: eras) func aCancelledTaskCancelsTheCall(era: ClientOptions.Mode) async throws {
        let (started, start) = AsyncStream<Void>.makeStream()
        let (ended, end) = AsyncStream<Bool>.makeStream()
        let server = Server("s", version: "1")
        server.tool("forever") { context -> String in
            start.yield()
            do {
                try await Task.sleep(nanoseconds: 3_600_000_000_000)
            } catch {
                end.yield(Task.isCancelled)
                let late = await failure { try await context.progress(1) }
                #expect(late is CancellationError)
            }
            return "late"
        }
        server.tool("after") { _ in "fine" }
        let client = try await connect(era, to: server)
        let call = Task { try await client.callTool("forever") }
        for await _ in started { break }
        call.cancel()
        #expect(await failure { _ = try await call.value } is CancellationError)
        for await cancelled in ended {
            #expect(cancelled)
            break
        }
        #expect(try await client.callTool("after").text == "fine")
        await client.close()
    }

    @Test(arguments: eras) func requestsHaveTimeouts(era: ClientOptions.Mode) async throws {
        let client = try await connect(era)
        let late = await failure { _ = try await client.callTool("forever", options: RequestOptions(timeout: 0.05)) }
        #expect(late is RequestTimeout)
        await client.close()
    }

    @Test(arguments: eras) func serversAsk(era: ClientOptions.Mode) async throws {
        let client = try await connect(era) { options in
            options.onElicit = { request in
                #expect(request.schema?["properties"]?["name"]?["type"] == "string")
                return try .accept(Name(name: "Ada"))
            }
            options.onSample = { request in SampleResult("\(request.messages.first?.content.text ?? "") 42", model: "m") }
            options.roots = { [Root(uri: "file:///a")] }
        }
        #expect(try await client.callTool("asks").text == #"Ada What? 42 ["file:///a"]"#)
        await client.close()
    }

    @Test(arguments: eras) func whatAClientsHandlerThrowsIsItsAnswer(era: ClientOptions.Mode) async throws {
        let client = try await connect(era) { options in options.onElicit = { _ in throw Oops() } }
        let answer = await failure {
            let result = try await client.callTool("asks")
            if result.isError { throw PeerError(result.text, rpcCode: 0) }
        }
        #expect((answer as? any KeelError)?.message.contains("it went wrong") == true, "\(String(describing: answer))")
        #expect(try await client.callTool("hello", arguments: ["name": "B"]).text == "Hello, B!")
        await client.close()
    }

    @Test(arguments: eras) func progressComesInOrderBeforeTheResult(era: ClientOptions.Mode) async throws {
        let client = try await connect(era)
        let notices = await client.notices()
        let seen = Locked<[Double]>([])
        let result = try await client.callTool("counts", options: RequestOptions(logLevel: .debug)) { told in
            seen.with { $0.append(told.progress) }
        }
        #expect(result.text == "done")
        #expect(seen.with { $0 } == [1, 2, 3])
        for await notice in notices where notice.method == "notifications/message" {
            #expect(notice.params["data"] == ["a": 1])
            #expect(notice.params["level"] == "warning")
            break
        }
        let stopped = await failure { _ = try await client.callTool("counts") { _ in throw Oops() } }
        #expect(stopped is Oops)
        #expect(try await client.callTool("who").text == "mcp-keel false")
        await client.close()
    }

    @Test(arguments: eras) func changesAreHeard(era: ClientOptions.Mode) async throws {
        let server = sampler()
        let client = try await connect(era, to: server)
        var heard: [String] = []
        for try await notice in client.listen(ListenFilter(tools: true, updates: ["memo://one"])) {
            heard.append(notice.method)
            switch notice.method {
            case "notifications/tools/list_changed": server.resourceUpdated("memo://one")
            case "notifications/resources/updated":
                #expect(notice.params["uri"] == "memo://one")
                // The loop is left, and with it the subscription.
            default: server.tool("new") { _ in "new" }
            }
            if notice.method == "notifications/resources/updated" { break }
        }
        #expect(heard.suffix(2) == ["notifications/tools/list_changed", "notifications/resources/updated"])
        #expect(try await client.callTool("new").text == "new")
        server.removeTool("new")
        let left = try await client.listTools().map(\.name)
        #expect(!left.contains("new"))
        await client.close()
    }

    @Test func aClosedClientSaysSo() async throws {
        let client = try await connect(.legacy)
        let call = Task { try await client.callTool("forever") }
        try await client.ping()
        await client.close()
        #expect(await failure { _ = try await call.value } is Disconnected)
        #expect(await failure { _ = try await client.listTools() } is Disconnected)
        await client.close()
    }

    @Test func aClosedServerSaysSo() async throws {
        let server = sampler()
        let client = try await connect(to: server)
        await server.close()
        #expect(await failure { _ = try await client.callTool("hello", arguments: ["name": "A"]) } is any KeelError)
        await client.close()
    }

    @Test func tracesShowBothDirections() async throws {
        let lines = Locked<[String]>([])
        let client = try await connect(.modern) { options in
            options.trace = { direction, message, _ in lines.with { $0.append("\(direction) \(message)") } }
        }
        _ = try await client.listTools()
        await client.close()
        let told = lines.with { $0 }
        #expect(told.contains { $0.hasPrefix("> ") })
        #expect(told.contains { $0.hasPrefix("< ") })
        for line in told { _ = try JSON(parsing: String(line.dropFirst(2))) }
    }

    @Test func whatTheCoreRefusesIsAUsageError() async throws {
        #expect(await failure { _ = try await connect(.modern) { $0.revision = "1999-01-01" } } is UsageError)
        let client = try await connect()
        #expect(await failure { _ = try await client.callTool("hello", arguments: [1, 2]) } is UsageError)
        await client.close()
        let server = Server("s", version: "1").tool("t", input: ["type": "string"]) { (_: JSON, _) in "" }
        #expect(await failure { _ = try await connect(to: server) } is UsageError)
    }

    @Test func manyCallsAtOnce() async throws {
        let client = try await connect()
        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<500 {
                group.addTask { try await client.callTool("hello", arguments: ["name": "\(number)"]).text }
            }
            var answers = Set<String>()
            for try await answer in group { answers.insert(answer) }
            #expect(answers.count == 500)
        }
        await client.close()
    }
}
