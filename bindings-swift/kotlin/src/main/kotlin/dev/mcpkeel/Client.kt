package dev.mcpkeel

import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.channelFlow
import kotlinx.coroutines.flow.flow

/** Where a server is. */
public sealed interface Target {
    /** A command to start: a server on its standard input and output. */
    public class Command(
        public val command: List<String>,
        /** Added to this process's environment. */
        public val environment: Map<String, String> = emptyMap(),
        public val folder: String? = null,
        /** Whether its standard error is passed on. Its end is kept for error texts in any case. */
        public val passErrors: Boolean = true,
    ) : Target {
        public constructor(vararg command: String) : this(command.toList())

        init {
            if (command.isEmpty()) throw UsageError("a command has at least the name of a program")
        }
    }

    /** The MCP endpoint of an HTTP server. */
    public class Url(public val url: String, public val headers: Map<String, String> = emptyMap()) : Target

    /** A server in this process. */
    public class Memory(public val server: Server) : Target
}

/** How a client is to connect, and what it answers. */
public class ClientOptions {
    /** Which kind of server to expect. */
    public var mode: Mode = Mode.AUTO

    /** The one revision to speak. */
    public var revision: String? = null

    /** How long a request may take, unless it says otherwise; progress starts it anew. */
    public var timeout: Duration = 60.seconds
    public var name: String = "mcp-keel"
    public var version: String = "0"

    /** Further members of how the client introduces itself. */
    public var info: JsonObject = JsonObject.EMPTY

    /** Capabilities to declare beside those that follow from the handlers. */
    public var capabilities: JsonObject = JsonObject.EMPTY

    /** Bounds, by the names that every language has. */
    public var limits: JsonObject? = null

    /** Sends the HTTP requests; null: `java.net.http`. */
    public var http: HttpTransport? = null

    /** Sees every message. */
    public var trace: Trace? = null

    internal var elicit: (suspend (ElicitRequest) -> ElicitResult)? = null
    internal var sample: (suspend (JsonObject) -> SampleResult)? = null
    internal var roots: (suspend () -> List<Root>)? = null
    internal var rootsChange = false
    internal var notice: (suspend (Notice) -> Unit)? = null
    internal var violation: ((String, String) -> Unit)? = null

    /** Fills in forms. What it throws is answered as an error. */
    public fun onElicit(answer: suspend (ElicitRequest) -> ElicitResult) {
        elicit = answer
    }

    /** Asks a model for the server. */
    public fun onSample(answer: suspend (request: JsonObject) -> SampleResult) {
        sample = answer
    }

    /** The folders that this client works in. */
    public fun roots(vararg roots: Root) {
        this.roots = { roots.toList() }
    }

    /** The same, when they may change: see [Client.rootsChanged]. */
    public fun onRoots(answer: suspend () -> List<Root>) {
        roots = answer
        rootsChange = true
    }

    /** Called for notifications of the server, log messages among them: one after the other. */
    public fun onNotice(told: suspend (Notice) -> Unit) {
        notice = told
    }

    /** Called when the server breaks a rule of the protocol. */
    public fun onViolation(told: (code: String, message: String) -> Unit) {
        violation = told
    }
}

/** What a server wants to know of the user. */
public class ElicitRequest(override val raw: JsonObject) : HasJson {
    public val message: String get() = raw.string("message").orEmpty()

    /** The form; null when it is a page to visit. */
    public val schema: JsonObject? get() = raw.obj("requestedSchema")

    /** The page to visit. */
    public val url: String? get() = raw.string("url")
}

/** What one request may have of its own. */
public class RequestOptions(
    public val timeout: Duration? = null,
    /** Log messages about this request from this level on. */
    public val logLevel: LogLevel? = null,
    /** Sent beside the parameters. */
    public val meta: JsonObject? = null,
    /** Told how far the request is, in the coroutine that waits for it. What it throws fails the request. */
    public val onProgress: (suspend (Progress) -> Unit)? = null,
)

/**
 * One connection to one server. Cancelling the coroutine that waits for a request cancels the request; all functions throw
 * [KeelException]s.
 */
public class Client private constructor(link: Link, private val options: ClientOptions) {
    private val connection: Connection
    private lateinit var opened: Opened

    init {
        val trace = Journal.with("client", options.trace)
        val own = jsonObject(
            "elicitation" to options.elicit?.let { JsonObject.EMPTY },
            "sampling" to options.sample?.let { JsonObject.EMPTY },
            "roots" to options.roots?.let { jsonObject("listChanged" to true.takeIf { options.rootsChange }) },
        )
        val config = jsonObject(
            "info" to jsonObject("name" to options.name, "version" to options.version) + options.info,
            "capabilities" to own + options.capabilities,
            "mode" to options.mode.word,
            "revision" to options.revision,
            "timeoutMs" to options.timeout.inWholeMilliseconds,
            "limits" to options.limits,
            "trace" to (trace != null),
        ) + link.config
        connection = Connection(link, config.toString(), Host(trace, ::input, options.notice, options.violation))
    }

    /** Which kind of server it is. */
    public val era: Mode get() = if (opened.about.string("era") == Mode.MODERN.word) Mode.MODERN else Mode.LEGACY
    public val revision: String get() = opened.revision

    /** Who the server says it is, if it does. */
    public val serverInfo: JsonObject? get() = opened.about.obj("server")
    public val capabilities: JsonObject get() = opened.about.obj("capabilities") ?: JsonObject.EMPTY
    public val instructions: String? get() = opened.about.string("instructions")

    /** Any request by its wire name; [all] walks the pages of a list. */
    public suspend fun request(
        method: String,
        params: JsonObject = JsonObject.EMPTY,
        options: RequestOptions = RequestOptions(),
        all: Boolean = false,
    ): JsonObject = send(method, params, options, all) { if (it is Told.Step) options.onProgress?.invoke(it.progress) }

    private suspend fun send(
        method: String,
        params: JsonObject,
        options: RequestOptions,
        all: Boolean = false,
        each: suspend (Told) -> Unit,
    ): JsonObject {
        val wanted = jsonObject(
            "timeoutMs" to options.timeout?.inWholeMilliseconds,
            "progress" to options.onProgress?.let { true },
            "all" to true.takeIf { all },
            "logLevel" to options.logLevel?.word,
            "meta" to options.meta,
        )
        return connection.request(method, params, wanted, each)
    }

    /** Calls a tool; [args] are maps, [Fields], [JsonObject]s or others that have JSON. */
    public suspend fun callTool(name: String, args: Any = JsonObject.EMPTY, options: RequestOptions = RequestOptions()): ToolResult =
        ToolResult(request("tools/call", jsonObject("name" to name, "arguments" to args), options))

    /** The same, told how far it is. */
    public suspend fun callTool(name: String, args: Any = JsonObject.EMPTY, onProgress: suspend (Progress) -> Unit): ToolResult =
        callTool(name, args, RequestOptions(onProgress = onProgress))

    /** The tools, fetched page by page as they are asked for. */
    public fun listTools(): Flow<Tool> = pages("tools/list", "tools", ::Tool)

    /** The resources, fetched page by page. */
    public fun listResources(): Flow<Resource> = pages("resources/list", "resources", ::Resource)

    /** The templates of resources, fetched page by page. */
    public fun listResourceTemplates(): Flow<ResourceTemplate> =
        pages("resources/templates/list", "resourceTemplates", ::ResourceTemplate)

    /** The prompts, fetched page by page. */
    public fun listPrompts(): Flow<Prompt> = pages("prompts/list", "prompts", ::Prompt)

    /** What a resource holds. */
    public suspend fun readResource(uri: String, options: RequestOptions = RequestOptions()): List<ResourceContents> =
        request("resources/read", jsonObject("uri" to uri), options).array("contents").orEmpty()
            .map { ResourceContents(it.asObject()) }

    /** A prompt, with its arguments filled in. */
    public suspend fun getPrompt(
        name: String,
        args: Map<String, String> = emptyMap(),
        options: RequestOptions = RequestOptions(),
    ): PromptResult = PromptResult(request("prompts/get", jsonObject("name" to name, "arguments" to args), options))

    /** Proposals for an argument of a prompt, when [value] was typed so far. */
    public suspend fun completePrompt(name: String, argument: String, value: String, known: Map<String, String> = emptyMap()): Completion =
        complete(jsonObject("type" to "ref/prompt", "name" to name), argument, value, known)

    /** Proposals for a variable of a template of resources. */
    public suspend fun completeResource(uri: String, variable: String, value: String, known: Map<String, String> = emptyMap()): Completion =
        complete(jsonObject("type" to "ref/resource", "uri" to uri), variable, value, known)

    private suspend fun complete(ref: JsonObject, argument: String, value: String, known: Map<String, String>): Completion {
        val params = jsonObject(
            "ref" to ref,
            "argument" to jsonObject("name" to argument, "value" to value),
            "context" to known.ifEmpty { null }?.let { jsonObject("arguments" to it) },
        )
        val found = request("completion/complete", params).obj("completion") ?: JsonObject.EMPTY
        return Completion(found.array("values").orEmpty().map { it.asString() }, found.long("total"), found.boolean("hasMore"))
    }

    /** Whether the server still answers. */
    public suspend fun ping(options: RequestOptions = RequestOptions()) {
        request("ping", options = options)
    }

    /** Tells the server that the roots are others now. */
    public suspend fun rootsChanged(): Unit = connection.notify("notifications/roots/list_changed", JsonObject.EMPTY)

    /**
     * Changes that the server tells, while the flow is collected: of lists (`tools`, `prompts`, `resources`) and of the
     * resources with these uris. The first notice says which of them the server agreed to.
     */
    public fun listen(
        tools: Boolean = false,
        prompts: Boolean = false,
        resources: Boolean = false,
        uris: List<String> = emptyList(),
    ): Flow<Notice> = channelFlow {
        val filter = jsonObject(
            "toolsListChanged" to true.takeIf { tools },
            "promptsListChanged" to true.takeIf { prompts },
            "resourcesListChanged" to true.takeIf { resources },
            "resourceSubscriptions" to uris.ifEmpty { null },
        )
        send("subscriptions/listen", jsonObject("notifications" to filter), RequestOptions()) {
            if (it is Told.Heard) send(it.notice)
        }
    }

    /** Ends the connection. Requests that still wait throw [Disconnected]. */
    public suspend fun close(): Unit = connection.close()

    private fun <T> pages(method: String, member: String, make: (JsonObject) -> T): Flow<T> = flow {
        var cursor: JsonValue? = null
        do {
            val page = request(method, jsonObject("cursor" to cursor))
            page.array(member).orEmpty().forEach { emit(make(it.asObject())) }
            cursor = page["nextCursor"]
        } while (cursor != null)
    }

    private suspend fun input(method: String, params: JsonObject): String = try {
        Outcomes.result(answer(method, params))
    } catch (thrown: Throwable) {
        // A cancellation that is the handler's own is a failure like others.
        currentCoroutineContext().ensureActive()
        Outcomes.failure(thrown, -32603)
    }

    private suspend fun answer(method: String, params: JsonObject): JsonValue {
        val found = when (method) {
            "elicitation/create" -> options.elicit?.invoke(ElicitRequest(params))?.raw
            "sampling/createMessage" -> options.sample?.invoke(params)?.raw
            "roots/list" -> options.roots?.invoke()?.let { jsonObject("roots" to it) }
            else -> null
        }
        return found ?: throw PeerError("this client does not answer $method", -32601)
    }

    public companion object {
        /** Opens a connection. */
        public suspend fun connect(target: Target, setup: ClientOptions.() -> Unit = {}): Client {
            val options = ClientOptions().apply(setup)
            val link = when (target) {
                is Target.Command -> ChildLink(target)
                is Target.Url -> HttpLink(target.url, target.headers, options.http ?: JdkHttpTransport())
                is Target.Memory -> MemoryLink(target.server)
            }
            val client = Client(link, options)
            try {
                client.opened = client.connection.start()
            } catch (thrown: Throwable) {
                client.close()
                throw thrown
            }
            return client
        }

        /** Opens a connection to the HTTP server with this endpoint. */
        public suspend fun connect(url: String, setup: ClientOptions.() -> Unit = {}): Client = connect(Target.Url(url), setup)

        /** Starts a server by its command line. */
        public suspend fun connect(command: List<String>, setup: ClientOptions.() -> Unit = {}): Client =
            connect(Target.Command(command), setup)

        /** Opens a connection to a server in this process. */
        public suspend fun connect(server: Server, setup: ClientOptions.() -> Unit = {}): Client = connect(Target.Memory(server), setup)
    }
}

/** Runs [block] and closes the client, whatever comes of it. */
public suspend inline fun <T> Client.use(block: (Client) -> T): T = try {
    block(this)
} finally {
    close()
}
