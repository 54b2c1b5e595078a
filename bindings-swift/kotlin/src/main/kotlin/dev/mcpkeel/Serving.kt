package dev.mcpkeel

import dev.mcpkeel.flat.FlatException
import dev.mcpkeel.flat.FlatRecord
import dev.mcpkeel.flat.FlatServer
import java.util.concurrent.ConcurrentHashMap
import kotlin.coroutines.CoroutineContext
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext

internal typealias Command = (flat: FlatServer, now: Long) -> List<FlatRecord>

/** What runs for one handler key. */
internal class Handler(
    /** Gives the outcome's JSON. */
    val run: suspend (input: JsonObject, context: Context) -> String,
    /** The outcome's JSON for what that threw. */
    val failure: (Throwable) -> String,
)

/** What a server tells its user. */
internal class Watch(
    val trace: Trace?,
    val error: ((Throwable, String) -> Unit)?,
    val violation: ((code: String, message: String) -> Unit)?,
    val notice: (suspend (Notice) -> Unit)?,
)

/** The running part of a server: owns one flat object with all its connections, runs handlers. */
internal class Serving(
    config: String,
    private val handlers: ConcurrentHashMap<String, Handler>,
    private val scope: CoroutineScope,
    /** Where handlers run: never where the driver does, for they may block. */
    private val dispatcher: CoroutineContext,
    private val watch: Watch,
) {
    private val flat = try {
        FlatServer(config, randomSeed())
    } catch (refused: FlatException) {
        throw fromCore(refused)
    }
    private val teller = Teller(scope)
    private val sinks = HashMap<Long, Sink>()
    private val calls = HashMap<Long, Context>()

    /** Calls of clients that do not read their answers. */
    private val parked = ArrayList<Pair<Context, String>>()
    private val rooms = ArrayList<CompletableDeferred<Unit>>()
    private var streams = 0L
    private val driver = Machine()

    private inner class Machine : Driver(scope) {
        override fun perform(record: FlatRecord) = this@Serving.perform(record)

        override fun timeout(now: Long) = flat.timeout(now)

        override fun free() {
            for (sink in sinks.values) sink.close()
            sinks.clear()
            for (context in calls.values) context.cancel("the server was closed")
            rooms.forEach { it.complete(Unit) }
            teller.close()
            flat.destroy()
        }

        override fun broken(error: KeelException) {
            tellError(error, "core")
            for (sink in sinks.values) sink.close()
            sinks.clear()
        }

        fun input(command: Command) = feed { command(flat, it) }

        fun order(command: Command) = act { command(flat, it) }
    }

    private val over = { UsageError("the server was closed", "closed") }

    /** A command of the user; what the core refuses is thrown. */
    suspend fun command(command: Command) = driver.ask(over) { driver.order(command) }

    /** A command that the core may refuse: then nothing happens. */
    suspend fun input(command: Command) = driver.post { driver.input(command) }

    /** The same for those that may not wait. */
    fun inputLater(command: Command) = driver.postLater(scope) { driver.input(command) }

    /** The whole catalog again, for those who are connected. One that the core refuses is told. */
    fun catalog(text: String) = driver.postLater(scope) {
        try {
            driver.order { flat, now -> flat.setCatalog(text, now) }
        } catch (refused: KeelException) {
            tellError(refused, "catalog")
        }
    }

    suspend fun callInfo(call: Long): String = driver.ask(over) {
        try {
            flat.callInfo(call)
        } catch (refused: FlatException) {
            throw fromCore(refused)
        }
    }

    /** A connection: "pipe" or "http1". Its stream number. */
    suspend fun open(transport: String, sink: Sink): Long = driver.ask(over) {
        val stream = ++streams
        sinks[stream] = sink
        driver.order { flat, now -> flat.open(stream, transport, now) }
        stream
    }

    /** Bytes of a connection; waits while its client does not read. */
    suspend fun receive(stream: Long, sink: Sink, bytes: ByteArray) {
        room(sink)
        driver.post { if (stream in sinks) driver.input { flat, now -> flat.receive(stream, bytes, now) } }
    }

    /** Bytes of a connection that its own thread has read. */
    fun receiveBlocking(stream: Long, bytes: ByteArray) = driver.postBlocking {
        if (stream in sinks) driver.input { flat, now -> flat.receive(stream, bytes, now) }
    }

    suspend fun end(stream: Long) = driver.post { if (stream in sinks) driver.input { flat, now -> flat.end(stream, now) } }

    /** Nothing can be delivered on that connection any more. */
    suspend fun gone(stream: Long) = withContext(NonCancellable) { driver.post { forget(stream) } }

    /** The same for those that may not wait. */
    fun goneLater(stream: Long) = driver.postLater(scope) { forget(stream) }

    private fun forget(stream: Long) {
        val sink = sinks.remove(stream) ?: return
        sink.drop()
        driver.input { flat, now -> flat.gone(stream, now) }
        readOn()
    }

    /** A client of a full connection has read on. */
    fun drained() = driver.postLater(scope) { readOn() }

    /** Waits until that connection may be sent more. */
    suspend fun room(sink: Sink) {
        while (sink.queued >= FULL) {
            val gate = CompletableDeferred<Unit>()
            if (driver.ask({ Disconnected("the connection is gone") }) { sink.queued < FULL || !rooms.add(gate) }) return
            gate.await()
        }
    }

    /** Answers what runs and closes every connection. */
    suspend fun close() {
        withContext(NonCancellable) {
            input { flat, now -> flat.close(now) }
            driver.stop()
        }
    }

    private fun readOn() {
        rooms.forEach { it.complete(Unit) }
        rooms.clear()
        val ready = parked.filter { (context, _) -> (context.sink?.queued ?: 0) < FULL }
        parked.removeAll(ready)
        for ((context, text) in ready) if (!context.isOver) context.job.start()
    }

    private fun perform(record: FlatRecord) {
        when (record.kind) {
            "write" -> sinks[record.stream]?.write(record.text)
            "close" -> sinks.remove(record.stream)?.close()
            "call" -> start(record)
            "answer" -> calls[record.id]?.answered(record.name, record.string())
            "cancelled" -> calls.remove(record.id)?.cancel(record.string())
            "trace" -> tellTrace(record)
            "notice" -> watch.notice?.let { told ->
                val text = record.string().ifEmpty { "{}" }
                teller.tell { told(Notice(record.name, JsonValue.parse(text).asObject())) }
            }
            "violation" -> watch.violation?.let { told -> teller.tell { told(record.name, record.string()) } }
        }
    }

    private fun start(record: FlatRecord) {
        val sink = sinks[record.stream]
        val context = Context(this, record.id, record.name, sink)
        calls[record.id] = context
        val text = record.string()
        context.job = scope.launch(dispatcher, CoroutineStart.LAZY) { run(context, text) }
        if (sink != null && sink.queued >= FULL) parked.add(context to text) else context.job.start()
    }

    private suspend fun run(context: Context, text: String) {
        val handler = handlers[context.key]
        val outcome = try {
            if (handler == null) throw InternalError("no handler for ${context.key}")
            handler.run(JsonValue.parse(text).asObject(), context)
        } catch (thrown: Throwable) {
            // Also an Error, and a cancellation that is the handler's own: the client must get an answer.
            if (context.isOver) return
            tellError(thrown, context.key)
            outcome(handler, thrown)
        }
        if (context.isOver) return
        withContext(NonCancellable) { respond(context, outcome) }
    }

    private fun outcome(handler: Handler?, thrown: Throwable): String = try {
        (handler?.failure ?: Outcomes::failure)(thrown)
    } catch (worse: Exception) {
        // What was thrown cannot be told.
        Outcomes.failure(InternalError(words(worse)))
    }

    private suspend fun respond(context: Context, outcome: String) = driver.post {
        calls.remove(context.call)
        context.finish()
        try {
            driver.order { flat, now -> flat.respond(context.call, outcome, now) }
        } catch (error: KeelException) {
            // The core takes no such outcome; the call must get an answer all the same.
            tellError(error, context.key)
            driver.input { flat, now -> flat.respond(context.call, Outcomes.failure(error, -32603), now) }
        }
    }

    private fun tellTrace(record: FlatRecord) {
        val trace = watch.trace ?: return
        try {
            trace(record.name, record.string(), record.id)
        } catch (thrown: Exception) {
            tellError(thrown, "trace")
        }
    }

    private fun tellError(thrown: Throwable, key: String) {
        watch.error?.let { told -> teller.tell { told(thrown, key) } }
    }
}
