import Foundation

public struct ServerOptions: Sendable {
    public var title: String?
    /// For the client's model: how to use this server.
    public var instructions: String?
    /// Entries on one page of a list.
    public var pageSize: Int?
    /// Further capabilities to declare.
    public var capabilities: JSON.Object = [:]
    /// Bounds on what clients may do; each has a safe default.
    public var limits: [String: Int] = [:]
    /// Called for what a handler throws; the client gets its words.
    public var onError: (@Sendable (_ error: any Error, _ key: String) -> Void)?
    /// Called when a client breaks a rule of the protocol.
    public var onViolation: (@Sendable (_ code: String, _ message: String) -> Void)?
    /// Called for notifications such as a change of the client's roots.
    public var onNotice: (@Sendable (Notice) -> Void)?
    /// Sees every message.
    public var trace: Trace?

    public init() {}
}

/// A server: what it offers, and the ways to serve it. Tools, resources and prompts may be added and removed while it
/// runs; clients are told.
public final class Server: Sendable {
    private let info: Implementation
    private let options: ServerOptions
    private let state = Locked(State())

    private struct State {
        var handlers: [String: Handler] = [:]
        var tools = Catalog()
        var resources = Catalog()
        var templates = Catalog()
        var prompts = Catalog()
        var fault: (any Error)?
        var serving: Serving?

        var catalog: JSON {
            [
                "tools": .array(tools.entries), "resources": .array(resources.entries), "resourceTemplates": .array(templates.entries),
                "prompts": .array(prompts.entries),
            ]
        }
    }

    /// Entries in the order in which they were added.
    private struct Catalog {
        private var named: JSON.Object = [:]
        var entries: [JSON] { named.map(\.value) }

        subscript(name: String) -> JSON? {
            get { named[name] }
            set { named[name] = newValue }
        }
    }

    public init(_ name: String, version: String, options: ServerOptions = ServerOptions()) {
        info = Implementation(name: name, version: version, title: options.title)
        self.options = options
    }

    /// A tool. Its arguments are any `Decodable`, whose JSON Schema is found by itself, or given as `input`. It returns a
    /// text, content, a ``ToolResult``, or any `Encodable`: structured content, with a schema where one can be found. What
    /// it throws becomes a result with `isError`; a ``PeerError`` becomes that protocol error.
    @discardableResult
    public func tool<Arguments: Decodable & Sendable, Output: Encodable & Sendable>(
        _ name: String, _ description: String? = nil, title: String? = nil, input: JSON? = nil, output: JSON? = nil,
        annotations: JSON.Object? = nil, handler: @escaping @Sendable (Arguments, Context) async throws -> Output
    ) -> Server {
        add(name, description, title, annotations, { try input ?? InputSchema.of(Arguments.self) }, output ?? found(Output.self)) {
            try await handler(try arguments($0), $1)
        }
    }

    /// A tool without arguments.
    @discardableResult
    public func tool<Output: Encodable & Sendable>(
        _ name: String, _ description: String? = nil, title: String? = nil, output: JSON? = nil, annotations: JSON.Object? = nil,
        handler: @escaping @Sendable (Context) async throws -> Output
    ) -> Server {
        add(name, description, title, annotations, { ["type": "object"] }, output ?? found(Output.self)) { try await handler($1) }
    }

    private func add(
        _ name: String, _ description: String?, _ title: String?, _ annotations: JSON.Object?, _ input: () throws -> JSON,
        _ output: JSON?, _ run: @escaping @Sendable (JSON, Context) async throws -> any Encodable
    ) -> Server {
        change { state in
            let tool = object(
                ("name", .string(name)), ("title", title.json), ("description", description.json), ("inputSchema", try input()),
                ("outputSchema", output), ("annotations", annotations.map(JSON.object)))
            state.tools[name] = .object(tool)
            state.handlers["tools/call \(name)"] = Handler(
                run: { try toolResult(try await run($0, $1)) }, failure: toolFailure)
        }
    }

    /// A resource. It returns a text, bytes, or ``ResourceContents``.
    @discardableResult
    public func resource(
        _ uri: String, name: String? = nil, title: String? = nil, description: String? = nil, mimeType: String? = nil,
        handler: @escaping @Sendable (Context) async throws -> any ResourceOutput
    ) -> Server {
        resource(uri, name: name, title: title, description: description, mimeType: mimeType) { _, context in try await handler(context) }
    }

    /// A resource whose uri has `{variable}`s: a template of resources. It gets their values.
    @discardableResult
    public func resource(
        _ uri: String, name: String? = nil, title: String? = nil, description: String? = nil, mimeType: String? = nil,
        handler: @escaping @Sendable (_ variables: [String: String], Context) async throws -> any ResourceOutput
    ) -> Server {
        change { state in
            let isTemplate = uri.contains("{")
            let entry = JSON.object(object(
                (isTemplate ? "uriTemplate" : "uri", .string(uri)), ("name", .string(name ?? uri)), ("title", title.json),
                ("description", description.json), ("mimeType", mimeType.json)))
            if isTemplate { state.templates[uri] = entry } else { state.resources[uri] = entry }
            let run: @Sendable (JSON, Context) async throws -> JSON = { input, context in
                let variables = (input["variables"]?.object ?? [:]).map { ($0.name, $0.value.string ?? "") }
                let read = try await handler(Dictionary(variables) { first, _ in first }, context)
                let contents = read.contents(uri: input["uri"]?.string ?? uri, mimeType: mimeType)
                return ["contents": .array(contents.map { .object($0.json) })]
            }
            state.handlers["resources/read \(uri)"] = Handler(run: run, failure: failureOutcome)
        }
    }

    /// A prompt whose arguments are the members of a `Decodable`, all of them text. It returns the text of one user
    /// message, messages, or a ``PromptResult``.
    @discardableResult
    public func prompt<Arguments: Decodable & Sendable>(
        _ name: String, _ description: String? = nil, title: String? = nil, arguments listed: [Prompt.Argument]? = nil,
        handler: @escaping @Sendable (Arguments, Context) async throws -> any PromptOutput
    ) -> Server {
        add(name, description, title, { try listed ?? promptArguments(Arguments.self) }) { try await handler(try arguments($0), $1) }
    }

    /// A prompt without arguments.
    @discardableResult
    public func prompt(
        _ name: String, _ description: String? = nil, title: String? = nil,
        handler: @escaping @Sendable (Context) async throws -> any PromptOutput
    ) -> Server {
        add(name, description, title, { [] }) { try await handler($1) }
    }

    private func add(
        _ name: String, _ description: String?, _ title: String?, _ arguments: () throws -> [Prompt.Argument],
        _ run: @escaping @Sendable (JSON, Context) async throws -> any PromptOutput
    ) -> Server {
        change { state in
            let prompt = object(
                ("name", .string(name)), ("title", title.json), ("description", description.json),
                ("arguments", .array(try arguments().map { .object($0.json) })))
            state.prompts[name] = .object(prompt)
            state.handlers["prompts/get \(name)"] = Handler(
                run: { .object(try await run($0, $1).promptResult.json) }, failure: failureOutcome)
        }
    }

    /// Completes arguments of prompts and variables of templates. To be set before the server runs.
    @discardableResult
    public func completion(_ handler: @escaping @Sendable (CompletionRequest, Context) async throws -> [String]) -> Server {
        completion { Completion(try await handler($0, $1)) }
    }

    /// The same with the number of all values.
    @discardableResult
    public func completion(_ handler: @escaping @Sendable (CompletionRequest, Context) async throws -> Completion) -> Server {
        change { state in
            if state.serving != nil { throw UsageError("completion() comes before the server runs") }
            let run: @Sendable (JSON, Context) async throws -> JSON = { input, context in
                ["completion": .object(try await handler(CompletionRequest(input), context).json)]
            }
            state.handlers["completion/complete"] = Handler(run: run, failure: failureOutcome)
        }
    }

    public func removeTool(_ name: String) {
        change { state in
            state.tools[name] = nil
            state.handlers["tools/call \(name)"] = nil
        }
    }

    public func removePrompt(_ name: String) {
        change { state in
            state.prompts[name] = nil
            state.handlers["prompts/get \(name)"] = nil
        }
    }

    /// Takes a resource or a template off the lists.
    public func removeResource(_ uri: String) {
        change { state in
            state.resources[uri] = nil
            state.templates[uri] = nil
            state.handlers["resources/read \(uri)"] = nil
        }
    }

    /// Tells those who subscribed that a resource has changed.
    public func resourceUpdated(_ uri: String) {
        state.with { $0.serving }?.hear(.publish(JSON.object(["resource": .string(uri)]).description))
    }

    /// A log message that is not about one call.
    public func log(_ level: LogLevel, _ data: some Encodable, logger: String? = nil) throws {
        let entry = object(("level", .string(level.rawValue)), ("logger", logger.json), ("data", try JSON(encoding: data)))
        state.with { $0.serving }?.hear(.log(JSON.object(entry).description))
    }

    /// Cancels what runs, answers it with an error, and closes every connection.
    public func close() async {
        let serving = state.with { state in
            defer { state.serving = nil }
            return state.serving
        }
        await serving?.close()
    }

    /// What cannot be offered is an error when the server starts, or told to `onError` when it runs already.
    @discardableResult
    private func change(_ change: (inout State) throws -> Void) -> Server {
        let fault: (any Error)? = state.with { state in
            do {
                try change(&state)
                state.serving?.hear(.catalog(state.catalog.description))
                return nil
            } catch {
                if state.serving == nil { state.fault = state.fault ?? error }
                return state.serving == nil ? nil : error
            }
        }
        if let fault { options.onError?(fault, "server") }
        return self
    }

    /// The running part; made when first needed.
    func running(http: JSON.Object = [:]) throws -> Serving {
        try state.with { state in
            if let fault = state.fault { throw fault }
            if let serving = state.serving {
                if !http.isEmpty { throw UsageError("rules for HTTP come before the server runs") }
                return serving
            }
            var config: JSON.Object = ["info": .object(info.json)]
            config["instructions"] = options.instructions.json
            config["pageSize"] = options.pageSize.map { .integer(Int64($0)) }
            if !options.capabilities.isEmpty { config["capabilities"] = .object(options.capabilities) }
            if !options.limits.isEmpty { config["limits"] = .object(JSON.Object(options.limits.map { ($0, .integer(Int64($1))) })) }
            if state.handlers["completion/complete"] != nil { config["completions"] = true }
            if !http.isEmpty { config["http"] = .object(http) }
            let trace = tracer("server", options.trace)
            if trace != nil { config["trace"] = true }
            let handlers = self.state
            let observers = Serving.Observers(
                handler: { key in handlers.with { $0.handlers[key] } }, onError: options.onError, onViolation: options.onViolation,
                onNotice: options.onNotice, trace: trace)
            let serving = try Serving(config: .object(config), catalog: state.catalog, observers: observers)
            state.serving = serving
            return serving
        }
    }
}

private func arguments<Arguments: Decodable>(_ input: JSON) throws -> Arguments {
    do {
        return try input.decode()
    } catch let error as InvalidError {
        throw InvalidError("invalid arguments: \(error.message)", code: error.code)
    }
}

/// The schema of what a tool returns, where that is an object of a known shape.
private func found(_ type: any Encodable.Type) -> JSON? {
    if type is any Payload.Type || type is JSON.Type { return nil }
    guard let type = type as? any Decodable.Type, let schema = try? InputSchema.of(type) else { return nil }
    return schema["type"] == "object" ? schema : nil
}

private func promptArguments(_ type: any Decodable.Type) throws -> [Prompt.Argument] {
    let schema = try InputSchema.of(type)
    guard let members = schema["properties"]?.object else { throw UsageError("the arguments of a prompt are the members of a struct") }
    let required = schema["required"]?.array ?? []
    return members.map { Prompt.Argument($0.name, required: required.contains(.string($0.name))) }
}
