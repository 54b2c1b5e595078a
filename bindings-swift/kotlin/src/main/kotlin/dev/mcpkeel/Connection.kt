package dev.mcpkeel

import dev.mcpkeel.flat.FlatClient
import dev.mcpkeel.flat.FlatException
import dev.mcpkeel.flat.FlatRecord
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicLong
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull

/** What the server said of itself when the connection was opened. */
internal class Opened(val revision: String, val about: JsonObject)

/** What comes for one request, in order; the last is [Done] or [Failed]. */
internal sealed interface Told {
    class Step(val progress: Progress) : Told

    class Heard(val notice: Notice) : Told

    class Done(val result: String) : Told

    class Failed(val error: KeelException) : Told
}

/** What the connection asks of its client. */
internal class Host(
    val trace: Trace?,
    /** The outcome for a request of the server, as JSON. */
    val input: suspend (method: String, params: JsonObject) -> String,
    val notice: (suspend (Notice) -> Unit)?,
    val violation: ((code: String, message: String) -> Unit)?,
)

/** Who waits for a request. What it hears waits here until it has time; of progress, not more than [MOST]. */
internal class Pending {
    val told = Channel<Told>(Channel.UNLIMITED)
    private val waiting = AtomicInteger()

    /** False when too much waits already. */
    fun hear(event: Told): Boolean {
        if (waiting.incrementAndGet() > MOST) {
            waiting.decrementAndGet()
            return false
        }
        told.trySend(event)
        return true
    }

    fun taken() {
        waiting.decrementAndGet()
    }

    fun end(event: Told) {
        told.trySend(event)
        told.close()
    }

    companion object {
        const val MOST = 1024
    }
}

/** The running part of a client: owns one flat object, performs its records, keeps who waits for what. */
internal class Connection(private val link: Link, config: String, private val host: Host) {
    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.Default)
    private val flat = try {
        FlatClient(config, randomSeed())
    } catch (refused: FlatException) {
        throw fromCore(refused)
    }
    private val teller = Teller(scope)
    private val pending = HashMap<Long, Pending>()
    private val inputs = HashMap<Long, Job>()
    private val handles = AtomicLong()
    private val ready = CompletableDeferred<Opened>()
    private val ended = CompletableDeferred<Unit>()
    private val closing = Mutex()
    private var shut = false

    @Volatile
    private var over: KeelException? = null
    private val driver = Machine()

    private inner class Machine : Driver(scope) {
        override fun perform(record: FlatRecord) = this@Connection.perform(record)

        override fun timeout(now: Long) = flat.timeout(now)

        override fun free() {
            finish(Disconnected("the client was closed"))
            teller.close()
            flat.destroy()
        }

        override fun broken(error: KeelException) = finish(error)

        fun input(command: (FlatClient, Long) -> List<FlatRecord>) = feed { command(flat, it) }

        fun order(command: (FlatClient, Long) -> List<FlatRecord>) = act { command(flat, it) }
    }

    private val gone = { over ?: Disconnected("the client was closed") }

    suspend fun start(): Opened {
        if (link is PipeLink) link.open(this, scope)
        driver.ask(gone) {
            over?.let { throw it } // A child may have ended before it was spoken to.
            driver.order { flat, now -> flat.start(now) }
        }
        return ready.await()
    }

    /** Sends a request and gives its result; [each] gets what comes before it. Cancelled with the coroutine that waits. */
    suspend fun request(method: String, params: JsonObject, options: JsonObject, each: suspend (Told) -> Unit): JsonObject {
        over?.let { throw it }
        val (paramsText, optionsText) = params.toString() to options.toString()
        val handle = handles.incrementAndGet()
        val waits = Pending()
        try {
            driver.ask(gone) {
                over?.let { throw it }
                pending[handle] = waits
                driver.order { flat, now -> flat.request(handle, method, paramsText, optionsText, now) }
            }
            for (told in waits.told) {
                when (told) {
                    is Told.Done -> return JsonValue.parse(told.result).asObject()
                    is Told.Failed -> throw told.error
                    else -> {
                        waits.taken()
                        each(told)
                    }
                }
            }
            throw gone()
        } catch (thrown: Throwable) {
            withContext(NonCancellable) { cancel(handle, if (thrown is CancellationException) "cancelled" else words(thrown)) }
            throw thrown
        }
    }

    private suspend fun cancel(handle: Long, reason: String) = driver.post {
        if (pending.remove(handle) != null) driver.input { flat, now -> flat.cancel(handle, reason, now) }
    }

    suspend fun notify(method: String, params: JsonObject) {
        val text = params.toString()
        driver.ask(gone) {
            over?.let { throw it }
            driver.order { flat, now -> flat.notify(method, text, now) }
        }
    }

    /** Ends the connection, bounded in time, whatever state it is in. */
    suspend fun close() = withContext(NonCancellable) {
        closing.withLock {
            if (shut) return@withLock
            shut = true
            driver.post { driver.input { flat, now -> flat.close(now) } }
            withTimeoutOrNull(GRACE) { ended.await() }
            link.closed()
            driver.stop()
            scope.cancel()
        }
    }

    // What links tell.

    suspend fun receive(bytes: ByteArray) = driver.post { driver.input { flat, now -> flat.receive(bytes, now) } }

    fun receiveBlocking(bytes: ByteArray) = driver.postBlocking { driver.input { flat, now -> flat.receive(bytes, now) } }

    suspend fun ended(reason: String) = driver.post { driver.input { flat, now -> flat.ended(reason, now) } }

    fun endedBlocking(reason: String) = driver.postBlocking { driver.input { flat, now -> flat.ended(reason, now) } }

    suspend fun response(stream: Long, status: Int, headers: List<Pair<String, String>>) {
        val lines = headers.joinToString("") { (name, value) -> "$name: $value\n" }
        running(stream) { flat, now -> flat.response(stream, status.toLong(), lines, now) }
    }

    suspend fun body(stream: Long, bytes: ByteArray) = running(stream) { flat, now -> flat.body(stream, bytes, now) }

    /** The exchange is over: whole, or for a reason. */
    suspend fun exchanged(stream: Long, reason: String?) = running(stream) { flat, now ->
        (link as HttpLink).forget(stream)
        if (reason == null) flat.end(stream, now) else flat.failed(stream, reason, now)
    }

    private suspend fun running(stream: Long, command: (FlatClient, Long) -> List<FlatRecord>) = driver.post {
        if ((link as HttpLink).isRunning(stream)) driver.input(command)
    }

    private fun perform(record: FlatRecord) {
        when (record.kind) {
            "write" -> (link as PipeLink).outbox.write(record.text)
            "close" -> (link as? PipeLink)?.outbox?.close()
            "fetch" -> (link as HttpLink).fetch(record.stream, record.name, record.string(), this, scope)
            "abort" -> (link as HttpLink).abort(record.stream)
            "ready" -> ready.complete(Opened(record.name, JsonValue.parse(record.string()).asObject()))
            "result" -> pending.remove(record.id)?.end(Told.Done(record.string()))
            "error" -> pending.remove(record.id)?.end(Told.Failed(fromRecord(record.string())))
            "progress" -> pending[record.id]?.hear(Told.Step(Progress(JsonValue.parse(record.string()).asObject())))
            "input" -> ask(record.id, record.name, record.string())
            "input_cancelled" -> inputs.remove(record.id)?.cancel()
            "notice" -> notice(record)
            "trace" -> trace(record)
            "violation" -> host.violation?.let { told -> teller.tell { told(record.name, record.string()) } }
            "closed" -> closed(record.name, record.string())
        }
    }

    private fun closed(code: String, reason: String) =
        finish(if (code == "timeout") RequestTimeout(reason) else Disconnected(reason, code.ifEmpty { "disconnected" }))

    private fun notice(record: FlatRecord) {
        val notice = Notice(record.name, JsonValue.parse(record.string().ifEmpty { "{}" }).asObject())
        val listens = pending[record.id]
        if (listens?.hear(Told.Heard(notice)) == false) {
            pending.remove(record.id)
            listens.end(Told.Failed(LimitError("more than ${Pending.MOST} notifications wait to be read")))
            driver.input { flat, now -> flat.cancel(record.id, "notifications are not read", now) }
        }
        host.notice?.let { told -> teller.tell { told(notice) } }
    }

    private fun trace(record: FlatRecord) {
        try {
            host.trace?.invoke(record.name, record.string(), 1)
        } catch (thrown: Exception) {
            host.violation?.let { told -> teller.tell { told("observer", words(thrown)) } }
        }
    }

    private fun ask(token: Long, method: String, text: String) {
        inputs[token] = scope.launch(Dispatchers.IO) {
            val outcome = host.input(method, JsonValue.parse(text.ifEmpty { "{}" }).asObject())
            driver.post { if (inputs.remove(token) != null) answer(token, outcome) }
        }
    }

    private fun answer(token: Long, outcome: String) {
        try {
            driver.order { flat, now -> flat.answer(token, outcome, now) }
        } catch (refused: KeelException) {
            // The core takes no such outcome; the server must get an answer all the same.
            driver.input { flat, now -> flat.answer(token, Outcomes.failure(refused, -32603), now) }
        }
    }

    private fun finish(error: KeelException) {
        if (over == null) over = error as? Disconnected ?: Disconnected(words(error), error.code)
        ready.completeExceptionally(error)
        for (waits in pending.values) waits.end(Told.Failed(error))
        pending.clear()
        for (input in inputs.values) input.cancel()
        inputs.clear()
        ended.complete(Unit)
    }

    private companion object {
        /** Milliseconds for the last messages of a connection. */
        const val GRACE = 2000L
    }
}
