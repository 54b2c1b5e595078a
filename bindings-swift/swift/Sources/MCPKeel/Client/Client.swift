import Foundation

/// How a server is reached.
public enum Target: Sendable {
    /// A program that speaks on its standard input and output. It gets `environment` beside that of this process.
    case command([String], environment: [String: String] = [:], directory: String? = nil)
    /// An HTTP server, by its MCP endpoint.
    case url(URL, headers: [String: String] = [:])
    /// A server in this process.
    case server(Server)
}

public struct ClientOptions: Sendable {
    public enum Mode: String, Sendable { case auto, legacy, modern }

    /// Which kind of server to expect; `auto` finds out.
    public var mode: Mode?
    /// The one revision to speak.
    public var revision: String?
    /// Seconds that a request may take, unless it says otherwise; progress starts it anew.
    public var timeout: Double?
    /// Fills in forms. An error that it throws is the server's answer.
    public var onElicit: (@Sendable (ElicitRequest) async throws -> ElicitResult)?
    /// Asks a model for the server.
    public var onSample: (@Sendable (SampleRequest) async throws -> SampleResult)?
    /// The folders that this client works in; they may change: see `rootsChanged`.
    public var roots: (@Sendable () async throws -> [Root])?
    /// Called for notifications of the server, log messages among them, one after the other.
    public var onNotice: (@Sendable (Notice) async -> Void)?
    /// Called when the server breaks a rule of the protocol.
    public var onViolation: (@Sendable (_ code: String, _ message: String) async -> Void)?
    /// Sees every message.
    public var trace: Trace?
    public var http = HTTPStack.automatic
    public var info = Implementation(name: "mcp-keel", version: "0")
    /// Further capabilities to declare.
    public var capabilities: JSON.Object = [:]
    /// Bounds on what the server may do; each has a safe default.
    public var limits: [String: Int] = [:]

    public init() {}

    func config(for link: any Link) -> JSON {
        var declared: JSON.Object = [:]
        if onElicit != nil { declared["elicitation"] = [:] }
        if onSample != nil { declared["sampling"] = [:] }
        if roots != nil { declared["roots"] = ["listChanged": true] }
        for (name, value) in capabilities { declared[name] = value }
        var config = link.config
        config["info"] = .object(info.json)
        config["capabilities"] = .object(declared)
        config["mode"] = (mode?.rawValue).json
        config["revision"] = revision.json
        config["timeoutMs"] = timeout.map { milliseconds($0) }
        if trace != nil { config["trace"] = true }
        if !limits.isEmpty { config["limits"] = .object(JSON.Object(limits.map { ($0, .integer(Int64($1))) })) }
        return .object(config)
    }
}

/// How a client speaks HTTP.
public enum HTTPStack: Sendable {
    /// Sockets on Linux for what is not TLS, else the URLSession of the platform.
    case automatic
    /// Sockets of this process, without TLS and proxies.
    case sockets
    /// The URLSession of the platform, with its proxies and credentials.
    case session

    func isSession(_ url: URL) -> Bool {
        switch self {
        case .sockets: return false
        case .session: return true
        case .automatic:
            #if os(Linux)
            return url.scheme?.lowercased() != "http"
            #else
            return true
            #endif
        }
    }
}

public struct RequestOptions: Sendable {
    /// Seconds.
    public var timeout: Double?
    /// Log messages about this request from this level on.
    public var logLevel: LogLevel?
    public var meta: JSON.Object?

    public init(timeout: Double? = nil, logLevel: LogLevel? = nil, meta: JSON.Object? = nil) {
        (self.timeout, self.logLevel, self.meta) = (timeout, logLevel, meta)
    }
}

func milliseconds(_ seconds: Double) -> JSON {
    .integer(Int64(min(max(seconds * 1000, 1), 1e15).rounded()))
}

/// One connection to one server. Cancelling a task that waits for a request cancels that request at the server too.
public final class Client: Sendable {
    /// Called in the task that waits, in order, before the result. What it throws cancels the request.
    public typealias OnProgress = @Sendable (Progress) async throws -> Void

    private let connection: Connection
    private let opened: Opened

    private init(_ connection: Connection, _ opened: Opened) {
        self.connection = connection
        self.opened = opened
    }

    deinit {
        Task { [connection] in await connection.close() }
    }

    /// Opens a connection.
    public static func connect(to target: Target, options: ClientOptions = ClientOptions()) async throws -> Client {
        try Task.checkCancellation()
        let link: any Link = switch target {
        case .command(let words, let environment, let directory):
            try ChildLink(words, environment: environment, directory: directory)
        case .url(let url, let headers):
            options.http.isSession(url) ? SessionLink(url, headers: headers) : SocketLink(url, headers: headers)
        case .server(let server): MemoryLink(server)
        }
        var options = options
        options.trace = tracer("client", options.trace)
        let (news, told) = AsyncStream<News>.makeStream()
        let connection = try Connection(
            link: link, config: options.config(for: link), answer: answering(options), news: told)
        Task.detached { [options] in
            for await one in news { await tell(one, options) }
        }
        do {
            let opened = try await withTaskCancellationHandler {
                try await connection.start()
            } onCancel: {
                Task { await connection.close() }
            }
            return Client(connection, opened)
        } catch {
            await connection.close()
            try Task.checkCancellation()
            throw error
        }
    }

    private static func tell(_ news: News, _ options: ClientOptions) async {
        switch news {
        case .notice(let notice): await options.onNotice?(notice)
        case .violation(let code, let message): await options.onViolation?(code, message)
        case .trace(let direction, let message): options.trace?(direction, message, 1)
        }
    }

    /// Which kind of server it is: "legacy" or "modern".
    public var era: String { opened.told["era"]?.string ?? "" }
    public var revision: String { opened.revision }
    /// Who the server says it is, if it does.
    public var serverInfo: Implementation? { (opened.told["server"]?.object).map(Implementation.init(json:)) }
    public var capabilities: JSON { opened.told["capabilities"] ?? [:] }
    public var instructions: String? { opened.told["instructions"]?.string }

    /// Any request by its wire name.
    public func request(
        _ method: String, _ params: JSON.Object = [:], options: RequestOptions = RequestOptions(), onProgress: OnProgress? = nil
    ) async throws -> JSON {
        try await request(method, params, options, all: false, onProgress: onProgress, onNotice: nil)
    }

    private func request(
        _ method: String, _ params: JSON.Object, _ options: RequestOptions, all: Bool = false, onProgress: OnProgress? = nil,
        onNotice: ((Notice) -> Void)? = nil
    ) async throws -> JSON {
        try Task.checkCancellation()
        let wanted = object(
            ("timeoutMs", options.timeout.map(milliseconds)), ("progress", onProgress == nil ? nil : true), ("all", all ? true : nil),
            ("logLevel", (options.logLevel?.rawValue).json), ("meta", options.meta.map(JSON.object)))
        let (handle, told) = try await connection.begin(
            method, JSON.object(params).description, JSON.object(wanted).description)
        return try await withTaskCancellationHandler {
            for await one in told {
                switch one {
                case .progress(let text): try await progress(text, handle, onProgress)
                case .notice(let notice): onNotice?(notice)
                case .result(let text): return try JSON(parsing: text)
                case .failure(let error): throw error
                }
            }
            // A stream without an outcome ends only when its task is cancelled.
            throw CancellationError()
        } onCancel: {
            connection.cancel(handle, "the task that waited for it was cancelled")
        }
    }

    private func progress(_ text: String, _ handle: Int64, _ heard: OnProgress?) async throws {
        do {
            try await heard?(Progress(try JSON(parsing: text)))
        } catch {
            connection.cancel(handle, "the progress handler failed")
            throw error
        }
    }

    /// Calls a tool. A tool that fails is a result with `isError`, not an error.
    public func callTool(
        _ name: String, arguments: JSON.Object = [:], options: RequestOptions = RequestOptions(), onProgress: OnProgress? = nil
    ) async throws -> ToolResult {
        let params: JSON.Object = ["name": .string(name), "arguments": .object(arguments)]
        return ToolResult(try await request("tools/call", params, options, onProgress: onProgress))
    }

    /// Calls a tool with any `Encodable` whose JSON is an object.
    public func callTool(
        _ name: String, arguments: some Encodable, options: RequestOptions = RequestOptions(), onProgress: OnProgress? = nil
    ) async throws -> ToolResult {
        guard let object = try JSON(encoding: arguments).object else { throw UsageError("the arguments of a tool are an object") }
        return try await callTool(name, arguments: object, options: options, onProgress: onProgress)
    }

    /// Tools, fetched page by page as they are asked for.
    public var tools: Pages<Tool> { Pages(self, "tools/list", "tools") }
    public var resources: Pages<Resource> { Pages(self, "resources/list", "resources") }
    public var resourceTemplates: Pages<ResourceTemplate> { Pages(self, "resources/templates/list", "resourceTemplates") }
    public var prompts: Pages<Prompt> { Pages(self, "prompts/list", "prompts") }

    /// All tools of all pages.
    public func listTools(options: RequestOptions = RequestOptions()) async throws -> [Tool] {
        try await list("tools/list", "tools", options)
    }

    public func listResources(options: RequestOptions = RequestOptions()) async throws -> [Resource] {
        try await list("resources/list", "resources", options)
    }

    public func listResourceTemplates(options: RequestOptions = RequestOptions()) async throws -> [ResourceTemplate] {
        try await list("resources/templates/list", "resourceTemplates", options)
    }

    public func listPrompts(options: RequestOptions = RequestOptions()) async throws -> [Prompt] {
        try await list("prompts/list", "prompts", options)
    }

    private func list<Entry: Payload>(_ method: String, _ member: String, _ options: RequestOptions) async throws -> [Entry] {
        let result = try await request(method, [:], options, all: true)
        return (result[member]?.array ?? []).map(Entry.init)
    }

    public func readResource(_ uri: String, options: RequestOptions = RequestOptions()) async throws -> [ResourceContents] {
        let result = try await request("resources/read", ["uri": .string(uri)], options)
        return (result["contents"]?.array ?? []).map(ResourceContents.init)
    }

    public func getPrompt(
        _ name: String, arguments: [String: String] = [:], options: RequestOptions = RequestOptions()
    ) async throws -> PromptResult {
        let given = JSON.Object(arguments.sorted { $0.key < $1.key }.map { ($0, .string($1)) })
        return PromptResult(try await request("prompts/get", ["name": .string(name), "arguments": .object(given)], options))
    }

    /// Proposals for an argument of a prompt or a variable of a template.
    public func complete(
        _ reference: CompletionReference, argument: String, value: String, known: [String: String] = [:],
        options: RequestOptions = RequestOptions()
    ) async throws -> Completion {
        var params: JSON.Object = ["ref": reference.json, "argument": ["name": .string(argument), "value": .string(value)]]
        if !known.isEmpty { params["context"] = ["arguments": .object(JSON.Object(known.map { ($0, .string($1)) }))] }
        return Completion(try await request("completion/complete", params, options)["completion"])
    }

    /// Asks for a sign of life. The modern revision has no such request: ``UsageError``.
    public func ping(options: RequestOptions = RequestOptions()) async throws {
        _ = try await request("ping", [:], options)
    }

    /// Tells the server that `roots` gives another list now.
    public func rootsChanged() async throws {
        try await connection.notify("notifications/roots/list_changed", "{}")
    }

    /// All notifications of the server from now on, until the connection ends. A consumer that is more than 4096 behind
    /// loses the oldest.
    public func notices() async -> AsyncStream<Notice> {
        await connection.notices()
    }

    /// Changes that the server tells, until the loop is left or the server ends them. The first says which of them the
    /// server agreed to.
    public func listen(_ filter: ListenFilter, options: RequestOptions = RequestOptions()) -> AsyncThrowingStream<Notice, any Error> {
        let (notices, told) = AsyncThrowingStream<Notice, any Error>.makeStream(bufferingPolicy: .bufferingNewest(4096))
        let asking = Task { [self] in
            do {
                _ = try await request("subscriptions/listen", ["notifications": filter.json], options, onNotice: { told.yield($0) })
                told.finish()
            } catch {
                told.finish(throwing: error is CancellationError ? nil : error)
            }
        }
        told.onTermination = { _ in asking.cancel() }
        return notices
    }

    /// Ends the connection. Requests that still wait end with ``Disconnected``.
    public func close() async {
        await connection.close()
    }
}

/// The entries of a list at the server, a page at a time.
public struct Pages<Entry: Payload>: AsyncSequence, Sendable {
    private let client: Client
    private let method: String
    private let member: String

    init(_ client: Client, _ method: String, _ member: String) {
        (self.client, self.method, self.member) = (client, method, member)
    }

    public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

    public struct Iterator: AsyncIteratorProtocol {
        let pages: Pages
        private var ready: ArraySlice<JSON> = []
        private var cursor: JSON?
        private var isLast = false

        init(pages: Pages) {
            self.pages = pages
        }

        public mutating func next() async throws -> Entry? {
            while ready.isEmpty {
                if isLast { return nil }
                let page = try await pages.client.request(pages.method, object(("cursor", cursor)))
                ready = (page[pages.member]?.array ?? [])[...]
                cursor = page["nextCursor"]
                isLast = cursor == nil || cursor == .null
            }
            return Entry(ready.removeFirst())
        }
    }
}
