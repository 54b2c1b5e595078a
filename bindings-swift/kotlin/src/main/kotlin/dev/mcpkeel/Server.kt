package dev.mcpkeel

import java.util.concurrent.ConcurrentHashMap
import kotlin.coroutines.CoroutineContext
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock

/**
 * An MCP server: register tools, resources and prompts, then serve them by one transport or several.
 *
 * ```
 * val server = Server("weather", "1.0") {
 *     tool("forecast", "The weather to come", ::Asked) { asked, _ -> "${asked.city}: sun" }
 * }
 * server.serveStdio()
 * ```
 *
 * The properties are read when the server first serves. Handlers run as coroutines of [dispatcher], many at once.
 */
public class Server(public val name: String, public val version: String, setup: Server.() -> Unit = {}) {
    /** Further members of how the server introduces itself: `title`, `description`, `icons`, `websiteUrl`. */
    public var info: JsonObject = JsonObject.EMPTY

    /** For the client's model: how to use this server. */
    public var instructions: String? = null

    /** Whom HTTP is served: `path`, and `hosts` and `origins` to accept ([JsonNull] = any). */
    public var http: JsonObject = JsonObject.EMPTY

    /** Bounds, by the names that every language has: `messageBytes`, `pendingCalls` and so on. */
    public var limits: JsonObject? = null

    /** Entries on one page of a list. */
    public var pageSize: Int? = null

    /** How long clients may keep lists and resources: `ttlMs` and `scope`. */
    public var cache: JsonObject? = null

    /** Capabilities to declare beside those that follow from what is registered. */
    public var capabilities: JsonObject? = null

    /** Where handlers run; on this one they may block. */
    public var dispatcher: CoroutineContext = Dispatchers.IO

    /** Sees every message. */
    public var trace: Trace? = null

    private var error: ((Throwable, String) -> Unit)? = null
    private var violation: ((String, String) -> Unit)? = null
    private var notice: (suspend (Notice) -> Unit)? = null
    private val handlers = ConcurrentHashMap<String, Handler>()
    private val lists = Lists()
    private val mutex = Mutex()
    private var serving: Serving? = null
    private var scope: CoroutineScope? = null
    private val transports = ArrayList<Transport>()

    init {
        setup()
    }

    /** Called for what a handler throws, with what was called; the client gets its message. */
    public fun onError(told: (error: Throwable, key: String) -> Unit) {
        error = told
    }

    /** Called when a client breaks a rule of the protocol. */
    public fun onViolation(told: (code: String, message: String) -> Unit) {
        violation = told
    }

    /** Called for notifications such as a change of the client's roots. */
    public fun onNotice(told: suspend (Notice) -> Unit) {
        notice = told
    }

    /**
     * A tool. [input] is the JSON Schema of the arguments, [output] that of the structured result; [more] are further members
     * of its description (`title`, `annotations`). The handler gives a text, a map or [JsonObject] (structured content),
     * [Content] or a list of it, or a whole [ToolResult]. What it throws becomes a result with `isError`; a [PeerError]
     * becomes that protocol error.
     */
    public fun tool(
        name: String,
        description: String? = null,
        input: JsonObject = jsonObject("type" to "object"),
        output: JsonObject? = null,
        more: JsonObject = JsonObject.EMPTY,
        handler: suspend (args: JsonObject, context: Context) -> Any?,
    ) {
        val tool = jsonObject("name" to name, "description" to description, "inputSchema" to input, "outputSchema" to output) + more
        val run: suspend (JsonObject, Context) -> String = { args, context -> Outcomes.tool(handler(args, context), output != null) }
        add("tools/call $name", Handler(run, Outcomes::toolFailure)) { tools[name] = tool }
    }

    /** A tool whose arguments are [Fields]. */
    public fun <F : Fields> tool(
        name: String,
        description: String? = null,
        input: () -> F,
        output: JsonObject? = null,
        more: JsonObject = JsonObject.EMPTY,
        handler: suspend (args: F, context: Context) -> Any?,
    ): Unit = tool(name, description, FieldsShape(input), output, more, handler)

    /** A tool whose arguments have a shape of their own, such as one of the kotlinx.serialization adapter. */
    public fun <T> tool(
        name: String,
        description: String? = null,
        input: Shape<T>,
        output: JsonObject? = null,
        more: JsonObject = JsonObject.EMPTY,
        handler: suspend (args: T, context: Context) -> Any?,
    ): Unit = tool(name, description, input.schema, output, more) { args, context -> handler(input.read(args), context) }

    /**
     * A resource, or with a `{variable}` in its uri a template of resources. The handler gives a text, bytes, or
     * [ResourceContents] or a list of them.
     */
    public fun resource(
        uri: String,
        name: String = uri,
        mimeType: String? = null,
        description: String? = null,
        more: JsonObject = JsonObject.EMPTY,
        read: suspend (uri: String, variables: Map<String, String>, context: Context) -> Any,
    ) {
        val template = '{' in uri
        val key = if (template) "uriTemplate" else "uri"
        val entry = jsonObject(key to uri, "name" to name, "mimeType" to mimeType, "description" to description) + more
        val run: suspend (JsonObject, Context) -> String = { asked, context ->
            val found = asked.string("uri") ?: uri
            val variables = asked.obj("variables").orEmpty().mapValues { it.value.asString() }
            Outcomes.resource(read(found, variables, context), found, mimeType)
        }
        add("resources/read $uri", Handler(run, Outcomes::failure)) { (if (template) templates else resources)[uri] = entry }
    }

    /** A prompt. The handler gives the text of one user message, [PromptMessage]s, or a whole [PromptResult]. */
    public fun prompt(
        name: String,
        description: String? = null,
        arguments: List<PromptArgument> = emptyList(),
        more: JsonObject = JsonObject.EMPTY,
        handler: suspend (args: Map<String, String>, context: Context) -> Any,
    ) {
        val prompt = jsonObject("name" to name, "description" to description, "arguments" to arguments.ifEmpty { null }) + more
        val run: suspend (JsonObject, Context) -> String = { args, context ->
            Outcomes.prompt(handler(args.mapValues { it.value.asString() }, context))
        }
        add("prompts/get $name", Handler(run, Outcomes::failure)) { prompts[name] = prompt }
    }

    /** Completes arguments of prompts and variables of templates. UsageError once the server runs. */
    public fun completion(handler: suspend (request: CompletionRequest, context: Context) -> List<String>) {
        completions { request, context -> Completion(handler(request, context)) }
    }

    /** The same, for handlers that know how many there are in all. */
    public fun completions(handler: suspend (request: CompletionRequest, context: Context) -> Completion) {
        if (serving != null) throw UsageError("completion comes before the server runs")
        val run: suspend (JsonObject, Context) -> String = { asked, context ->
            Outcomes.completion(handler(CompletionRequest(asked), context))
        }
        add(COMPLETION, Handler(run, Outcomes::failure)) {}
    }

    /** Takes a tool off the list. */
    public fun removeTool(name: String): Unit = remove("tools/call $name") { tools.remove(name) }

    /** Takes a resource or a template off the lists. */
    public fun removeResource(uri: String): Unit = remove("resources/read $uri") {
        resources.remove(uri)
        templates.remove(uri)
    }

    /** Takes a prompt off the list. */
    public fun removePrompt(name: String): Unit = remove("prompts/get $name") { prompts.remove(name) }

    /** Tells those who subscribed that a resource has changed. */
    public fun resourceUpdated(uri: String) {
        val change = jsonObject("resource" to uri).toString()
        serving?.inputLater { flat, now -> flat.publish(change, now) }
    }

    /** A log message that is not about one call. */
    public fun log(level: LogLevel, data: Any?, logger: String? = null) {
        val entry = jsonObject("level" to level.word, "logger" to logger, "data" to json(data)).toString()
        serving?.inputLater { flat, now -> flat.log(0, entry, now) }
    }

    /**
     * Serves the process's standard input and output; returns when the client has left. Until then whatever is printed on
     * standard output goes to standard error. SIGTERM and SIGINT answer what runs, and end the process.
     */
    public suspend fun serveStdio(): Unit = serve(StdioTransport()).join()

    /** Serves HTTP; returns when it accepts. UsageError when the port is taken. */
    public suspend fun serveHttp(port: Int = 0, host: String = "127.0.0.1", maxConnections: Int = 4096): HttpHandle {
        val transport = serve(HttpListener(host, port, maxConnections))
        return HttpHandle(this, transport, http.string("path") ?: "/mcp")
    }

    /** Answers what runs with an error, and closes every connection. The server may then be served anew. */
    public suspend fun close(): Unit = mutex.withLock {
        val running = serving ?: return
        val stopped = transports.toList()
        stopped.forEach { it.stop() }
        running.close()
        stopped.forEach { it.join(GRACE) }
        transports.clear()
        serving = null
        scope?.cancel()
    }

    private suspend fun <T : Transport> serve(transport: T): T {
        val running = running()
        transport.start(running, this)
        mutex.withLock { transports.add(transport) }
        return transport
    }

    /** The running part; made when first needed. */
    internal suspend fun running(): Serving = mutex.withLock {
        serving?.let { return it }
        val trace = Journal.with("server", trace)
        val config = jsonObject(
            "info" to jsonObject("name" to name, "version" to version) + info,
            "instructions" to instructions,
            "http" to http,
            "limits" to limits,
            "pageSize" to pageSize,
            "cache" to cache,
            "capabilities" to capabilities,
            "completions" to true.takeIf { handlers.containsKey(COMPLETION) },
            "trace" to (trace != null),
        )
        val scope = CoroutineScope(SupervisorJob() + Dispatchers.Default)
        val made = Serving(config.toString(), handlers, scope, dispatcher, Watch(trace, error, violation, notice))
        try {
            val catalog = lists.catalog()
            made.command { flat, now -> flat.setCatalog(catalog, now) }
        } catch (refused: KeelException) {
            made.close()
            throw refused
        }
        this.scope = scope
        serving = made
        made
    }

    private fun add(key: String, handler: Handler, change: Lists.() -> Unit) {
        handlers[key] = handler
        lists.change(change)
        announce()
    }

    private fun remove(key: String, change: Lists.() -> Unit) {
        lists.change(change)
        handlers.remove(key)
        announce()
    }

    /** Tells connected clients. A list that the core refuses changes nothing, and is told to `onError`. */
    private fun announce() {
        val serving = serving ?: return
        serving.catalog(lists.catalog())
    }

    private class Lists {
        val tools = LinkedHashMap<String, JsonObject>()
        val resources = LinkedHashMap<String, JsonObject>()
        val templates = LinkedHashMap<String, JsonObject>()
        val prompts = LinkedHashMap<String, JsonObject>()

        @Synchronized
        fun change(change: Lists.() -> Unit) = change()

        @Synchronized
        fun catalog(): String = jsonObject(
            "tools" to tools.values,
            "resources" to resources.values,
            "resourceTemplates" to templates.values,
            "prompts" to prompts.values,
        ).toString()
    }

    private companion object {
        const val COMPLETION = "completion/complete"

        /** Milliseconds that the last answers may take to be delivered once the server closes. */
        const val GRACE = 2000L
    }
}
