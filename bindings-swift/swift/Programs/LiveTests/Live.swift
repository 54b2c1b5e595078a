import Foundation
import MCPKeel

/// The tests, and what they need.
struct Live: Sendable {
    let python: String
    let fixture: [String]
    let everything: [String]
    let stack: HTTPStack

    typealias Test = @Sendable () async throws -> Void

    var tests: [(String, Test)] {
        let both: [(String, ClientOptions.Mode)] = [("legacy", .legacy), ("modern", .modern)]
        let eras: [(String, @Sendable (ClientOptions.Mode, Target) async throws -> Void)] = [
            ("a cancelled task cancels the call at the server", { try await cancelled($0, $1) }),
            ("a handler of ours that throws", { try await handlerThrows($0, $1) }),
            ("a handler of ours that refuses", { try await handlerRefuses($0, $1) }),
            ("numbers are exact", { try await exact($0, $1) }),
            ("many calls at once", { try await many($0, $1) }),
        ]
        var all: [(String, Test)] = []
        for (name, test) in eras {
            for (era, mode) in both {
                let stdio: Test = { try await test(mode, .command(fixture + ["--stdio"])) }
                let http: Test = {
                    let server = try Listening(fixture + ["--http", "0"])
                    try await test(mode, .url(server.url))
                    server.kill()
                }
                all += [("\(name), stdio \(era)", stdio), ("\(name), http \(era)", http)]
            }
        }
        let others: [(String, Test)] = [
            ("the server of all features", { try await publicServer() }),
            ("a server that is killed in a call, stdio", { try await killed() }),
            ("a server that is killed in a call, http", { try await killedHTTP() }),
            ("a server that dies at once", { try await dies() }),
            ("a command that does not exist", { try await missing() }),
            ("garbage before messages", { try await garbage() }),
            ("garbage in place of messages", { try await onlyGarbage() }),
            ("garbage over http", { try await garbageHTTP() }),
            ("a server that ends neither with its input nor with SIGTERM", { try await stubborn() }),
            ("the environment and the folder of a program", { try await environment() }),
        ]
        return all + others
    }

    private func connect(_ target: Target, _ mode: ClientOptions.Mode = .auto, _ set: (inout ClientOptions) -> Void = { _ in }) async throws -> Client {
        var options = ClientOptions()
        options.mode = mode
        options.http = stack
        set(&options)
        return try await Client.connect(to: target, options: options)
    }

    private func cancelled(_ mode: ClientOptions.Mode, _ target: Target) async throws {
        let sent = Seen<String>()
        let client = try await connect(target, mode) { options in
            options.trace = { direction, message, _ in if direction == ">" { Task { await sent.add(message) } } }
        }
        let call = Task { try await client.callTool("slow", arguments: ["ms": 60000]) }
        _ = await sent.first { $0.contains("\"slow\"") }
        call.cancel()
        _ = try await thrown(CancellationError.self) { _ = try await call.value }
        try same(try await client.callTool("echo", arguments: ["text": "after"]).text, "after")
        // In the modern era over HTTP the end of the exchange says it.
        if case .command = target { _ = await sent.first { $0.contains("notifications/cancelled") } }
        await client.close()
    }

    /// The server gets our words in the legacy era; in the modern one the call ends here, as we do not retry it.
    private func handlerThrows(_ mode: ClientOptions.Mode, _ target: Target) async throws {
        let client = try await connect(target, mode) { $0.onElicit = { _ in throw Failed("the form is broken") } }
        let told = try await words { try await client.callTool("ask_name") }
        try hold(told.contains("the form is broken"), told)
        try same(try await client.callTool("echo", arguments: ["text": "after"]).text, "after")
        await client.close()
    }

    private func handlerRefuses(_ mode: ClientOptions.Mode, _ target: Target) async throws {
        let client = try await connect(target, mode) { $0.onElicit = { _ in throw PeerError("no forms here", rpcCode: -32055) } }
        let told = try await words { try await client.callTool("ask_name") }
        try hold(told.contains("no forms here"), told)
        await client.close()
    }

    /// How a call failed, as a result or as an error of ours.
    private func words(_ call: () async throws -> ToolResult) async throws -> String {
        do {
            let result = try await call()
            try hold(result.isError, "it did not fail: \(result)")
            return result.text
        } catch let error as any KeelError {
            return error.message
        }
    }

    private func exact(_ mode: ClientOptions.Mode, _ target: Target) async throws {
        let client = try await connect(target, mode)
        let huge: JSON = .exact("123456789012345678901234567890")
        let sum = try await client.callTool("add", arguments: ["a": huge, "b": 1])
        try same(sum.structured?["result"], .exact("123456789012345678901234567891"))
        await client.close()
    }

    private func many(_ mode: ClientOptions.Mode, _ target: Target) async throws {
        let client = try await connect(target, mode)
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<100 {
                group.addTask { try await client.callTool("echo", arguments: ["text": "\(number)"]).text }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        try same(answers.count, 100)
        await client.close()
    }

    private func publicServer() async throws {
        let client = try await connect(.command(everything)) { options in
            options.onElicit = { _ in try .accept(["name": "Ada"]) }
            options.onSample = { _ in SampleResult("sampled here", model: "m") }
            options.roots = { [Root(uri: "file:///tmp")] }
        }
        try same(client.era, "legacy")
        let tools = try await client.listTools().map(\.name)
        try hold(tools.contains("echo"), "\(tools)")
        try same(try await client.callTool("echo", arguments: ["message": "grüß 🦀"]).text, "Echo: grüß 🦀")
        try hold(try await client.callTool("get-sum", arguments: ["a": 2, "b": 3]).text.contains("5"), "no sum")
        let sampled = try await client.callTool("trigger-sampling-request", arguments: ["prompt": "x", "maxTokens": 10])
        try hold(sampled.text.contains("sampled here"), sampled.text)
        var uris: [String] = []
        for try await resource in client.resources { uris.append(resource.uri) }
        try hold(!uris.isEmpty, "no resources")
        try hold(try await client.readResource(uris[0]).first?.text != nil, "no text")
        try hold(try await !client.listPrompts().isEmpty, "no prompts")
        let image = try await client.callTool("get-tiny-image").content.first { $0.type == "image" }
        try same(image?.bytes?.prefix(4), Data([0x89, 0x50, 0x4e, 0x47]))
        let unknown = await Result { try await client.callTool("nope") }
        if case .success(let result) = unknown { try hold(result.isError, "an unknown tool was called") }
        await client.close()
    }

    private func killed() async throws {
        let sent = Seen<String>()
        let said = FileManager.default.temporaryDirectory.appendingPathComponent("keel-\(UUID()).pid")
        defer { try? FileManager.default.removeItem(at: said) }
        let script = "echo $$ > '\(said.path)'; exec \"$@\""
        let client = try await connect(.command(["/bin/sh", "-c", script, "sh"] + fixture + ["--stdio"])) { options in
            options.trace = { direction, message, _ in if direction == ">" { Task { await sent.add(message) } } }
        }
        let call = Task { try await client.callTool("slow", arguments: ["ms": 60000]) }
        _ = await sent.first { $0.contains("\"slow\"") }
        let id = try String(contentsOf: said, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        kill(Int32(id) ?? 0, SIGKILL)
        let error = try await thrown(Disconnected.self) { _ = try await call.value }
        try hold(error.message.contains("signal 9"), error.message)
        _ = try await thrown(Disconnected.self) { _ = try await client.listTools() }
        await client.close()
    }

    private func killedHTTP() async throws {
        let sent = Seen<String>()
        let server = try Listening(fixture + ["--http", "0"])
        let client = try await connect(.url(server.url)) { options in
            options.trace = { direction, message, _ in if direction == ">" { Task { await sent.add(message) } } }
            options.timeout = 10
        }
        try same(try await client.callTool("echo", arguments: ["text": "before"]).text, "before")
        let call = Task { try await client.callTool("slow", arguments: ["ms": 60000]) }
        _ = await sent.first { $0.contains("\"slow\"") }
        server.kill()
        _ = try await thrown(Disconnected.self) { _ = try await call.value }
        await client.close()
    }

    private func dies() async throws {
        let target = Target.command(["/bin/sh", "-c", "echo my last words >&2; exit 3"])
        let error = try await thrown(Disconnected.self) { _ = try await connect(target) }
        try hold(error.message.contains("code 3") && error.message.contains("my last words"), error.message)
    }

    private func missing() async throws {
        let error = try await thrown(Disconnected.self) { _ = try await connect(.command(["/nowhere/to/be/found"])) }
        try hold(error.message.contains("/nowhere/to/be/found"), error.message)
        _ = try await thrown(UsageError.self) { _ = try await connect(.command([])) }
    }

    private func garbage() async throws {
        let violations = Seen<String>()
        let script = #"printf 'hello\n{"jsonrpc":"2.0","id":99,"result":{}}\n\377\376\n[]\n'; exec "$@""#
        let client = try await connect(.command(["/bin/sh", "-c", script, "sh"] + fixture + ["--stdio"])) { options in
            options.onViolation = { code, _ in await violations.add(code) }
        }
        try same(try await client.callTool("echo", arguments: ["text": "fine"]).text, "fine")
        _ = await violations.first { _ in true }
        await client.close()
    }

    private func onlyGarbage() async throws {
        let target = Target.command(["/bin/sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' 'x'; echo; exec cat >/dev/null"])
        let failure = try await thrown((any Error).self) { _ = try await connect(target) { $0.timeout = 2 } }
        try hold(failure is any KeelError, "\(failure)")
    }

    private func garbageHTTP() async throws {
        let script = """
            import socket
            server = socket.create_server(("127.0.0.1", 0))
            print("listening", server.getsockname()[1], flush=True)
            answers = [b"\\x00\\x01garbage\\r\\n\\r\\n", b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\n\\r\\n{broken",
                b"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\n\\r\\ndata: {broken\\n\\n", b""]
            at = 0
            while True:
                peer, _ = server.accept()
                peer.recv(65536)
                peer.sendall(answers[at % len(answers)])
                peer.close()
                at += 1
            """
        let server = try Listening([python, "-c", script])
        for _ in 0..<4 {
            let failure = try await thrown((any Error).self) { _ = try await connect(.url(server.url)) { $0.timeout = 3 } }
            try hold(failure is any KeelError, "\(failure)")
        }
        server.kill()
    }

    private func stubborn() async throws {
        let said = FileManager.default.temporaryDirectory.appendingPathComponent("keel-\(UUID()).pid")
        defer { try? FileManager.default.removeItem(at: said) }
        let script = "trap '' TERM; sleep 1000 & echo $! > '\(said.path)'; while :; do wait; done"
        _ = try await thrown(RequestTimeout.self) {
            _ = try await connect(.command(["/bin/sh", "-c", script]), .legacy) { $0.timeout = 0.5 }
        }
        let id = Int32(try String(contentsOf: said, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
        // It was killed; when it is gone is the system's affair. What nobody waits for is left without life.
        while kill(id, 0) == 0 {
            let state = (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)) ?? ""
            if state.contains(") Z ") { break }
            try await Task.sleep(nanoseconds: 10_000_000)
        }
    }

    private func environment() async throws {
        let script = "test \"$KEEL_TEST\" = yes && test \"$(pwd)\" = / && test -n \"$PATH\" && exec \"$@\""
        let words = ["/bin/sh", "-c", script, "sh"] + fixture + ["--stdio"]
        let client = try await connect(.command(words, environment: ["KEEL_TEST": "yes"], directory: "/"))
        try same(try await client.callTool("echo", arguments: ["text": "here"]).text, "here")
        await client.close()
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
