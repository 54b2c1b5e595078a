package dev.mcpkeel

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Job
import kotlinx.coroutines.completeWith

/** Who calls, and with what. */
public class CallInfo internal constructor(public val raw: JsonObject) {
    /** Who the client says it is, if it does. */
    public val client: JsonObject? get() = raw.obj("client")
    public val capabilities: JsonObject get() = raw.obj("capabilities") ?: JsonObject.EMPTY

    /** The revision of the protocol that this call speaks. */
    public val revision: String get() = raw.string("revision").orEmpty()

    /** What the client sent beside the arguments. */
    public val meta: JsonObject get() = raw.obj("meta") ?: JsonObject.EMPTY

    /** Whether the client wants to hear of progress. */
    public val wantsProgress: Boolean get() = raw.boolean("progress") ?: false
}

/**
 * What a handler gets beside its input: one running call. When the client cancels the call or goes away, the handler's
 * coroutine is cancelled.
 */
public class Context internal constructor(
    private val serving: Serving,
    internal val call: Long,
    /** What is called, such as `tools/call forecast`. */
    public val key: String,
    internal val sink: Sink?,
) {
    private val asked = AtomicInteger()
    private val asks = ConcurrentHashMap<String, CompletableDeferred<JsonValue>>()

    @Volatile
    private var reason: KeelException? = null
    internal lateinit var job: Job

    /** Whether the call has ended: answered, or cancelled by the client. */
    public val isOver: Boolean get() = reason != null

    /** Who calls, with which capabilities. UsageError once the call has ended. */
    public suspend fun info(): CallInfo = CallInfo(JsonValue.parse(serving.callInfo(call)).asObject())

    /**
     * Tells how far the call is; dropped when the client did not ask for it. Waits for a client that reads slowly.
     * InvalidError for numbers without JSON.
     */
    public suspend fun progress(progress: Number, total: Number? = null, message: String? = null) {
        val told = jsonObject("progress" to progress, "total" to total, "message" to message).toString()
        send { flat, now -> flat.progress(call, told, now) }
    }

    /** Sends a log message; [data] is anything that has JSON. Dropped when the client wants no such level. */
    public suspend fun log(level: LogLevel, data: Any?, logger: String? = null) {
        val entry = jsonObject("level" to level.word, "logger" to logger, "data" to json(data)).toString()
        send { flat, now -> flat.log(call, entry, now) }
    }

    /** Asks the user to fill in a form; [schema] says which fields it has. */
    public suspend fun elicit(message: String, schema: JsonObject): ElicitResult =
        elicit(jsonObject("message" to message, "requestedSchema" to schema))

    /** Asks the user to fill in a form with these fields: the form, or null when the user declined or went away. */
    public suspend fun <F : Fields> elicit(message: String, form: () -> F): F? {
        val empty = form()
        return elicit(message, empty.schema).content?.let { empty.bind(it) }
    }

    /** Any elicitation by its wire names: visiting a page, for one. */
    public suspend fun elicit(params: JsonObject): ElicitResult = ElicitResult(ask("elicitation/create", params))

    /** Asks the client's model, as one user message. */
    public suspend fun sample(text: String, maxTokens: Int = 1024): SampleResult =
        sample(jsonObject("messages" to jsonArray(PromptMessage("user", Content.text(text))), "maxTokens" to maxTokens))

    /** Asks the client's model, by wire names. */
    public suspend fun sample(params: JsonObject): SampleResult = SampleResult(ask("sampling/createMessage", params))

    /** The folders that the client works in. */
    public suspend fun roots(): List<Root> = ask("roots/list").array("roots").orEmpty().map {
        val found = it.asObject()
        Root(found.string("uri").orEmpty(), found.string("name"))
    }

    /** Any request to the client inside this call. PeerError when it refuses, UsageError when it cannot be asked. */
    public suspend fun ask(method: String, params: JsonObject = JsonObject.EMPTY): JsonObject {
        reason?.let { throw it }
        // Numbered in the order of asking: a handler that is run again asks the same again.
        val key = asked.incrementAndGet().toString()
        val answer = CompletableDeferred<JsonValue>()
        asks[key] = answer
        try {
            val request = jsonObject("method" to method, "params" to params).toString()
            serving.command { flat, now -> flat.ask(call, key, request, now) }
            return answer.await().asObject()
        } finally {
            asks.remove(key)
        }
    }

    private suspend fun send(command: Command) {
        if (isOver) return
        sink?.let { serving.room(it) }
        serving.input(command)
    }

    internal fun answered(key: String, text: String) {
        val answer = asks.remove(key) ?: return
        answer.completeWith(
            runCatching {
                val outcome = JsonValue.parse(text).asObject()
                outcome.obj("error")?.let { throw fromRpc(it) }
                outcome["result"] ?: JsonObject.EMPTY
            },
        )
    }

    internal fun cancel(why: String) {
        val words = why.ifEmpty { "the client cancelled the call" }
        finish(Cancelled(words))
        job.cancel(CancellationException(words))
    }

    internal fun finish(why: KeelException = UsageError("this call has ended")) {
        reason = why
        for (ask in asks.values) ask.completeExceptionally(why)
    }
}
