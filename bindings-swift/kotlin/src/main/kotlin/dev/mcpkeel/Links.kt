package dev.mcpkeel

import java.io.IOException
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.launch

/** How a client reaches its server. Links carry bytes and HTTP parts; what they mean is the core's. */
internal sealed interface Link {
    /** Members of the configuration of the core. */
    val config: Map<String, JsonValue>

    /** Returns when nothing of the link is left; bounded in time. */
    suspend fun closed()
}

internal abstract class PipeLink : Link {
    override val config: Map<String, JsonValue> = jsonObject("link" to "pipe")

    /** Takes what the client writes. */
    val outbox = Outbox()

    abstract suspend fun open(connection: Connection, scope: CoroutineScope)
}

/** A client and a server in one process. */
internal class MemoryLink(private val server: Server) : PipeLink() {
    private var serving: Serving? = null
    private var stream = 0L

    override suspend fun open(connection: Connection, scope: CoroutineScope) {
        val serving = server.running().also { serving = it }
        val answers = Outbox(serving::drained)
        val stream = serving.open("pipe", answers).also { stream = it }
        scope.launch {
            outbox.empty { serving.receive(stream, answers, it) }
            serving.end(stream)
        }
        scope.launch {
            answers.empty(connection::receive)
            connection.ended("the server closed the connection")
        }
    }

    override suspend fun closed() {
        outbox.drop()
        serving?.gone(stream)
    }
}

/** HTTP by whatever sends it. */
internal class HttpLink(url: String, headers: Map<String, String>, private val transport: HttpTransport) : Link {
    override val config: Map<String, JsonValue> = jsonObject("link" to "http", "url" to url, "headers" to headers)

    /** Exchanges that run, for the driver alone. */
    private val running = HashMap<Long, Job>()

    fun fetch(stream: Long, method: String, text: String, connection: Connection, scope: CoroutineScope) {
        val told = JsonValue.parse(text).asObject()
        val headers = told.array("headers").orEmpty().map { pair -> pair.asArray().let { it[0].asString() to it[1].asString() } }
        val request = HttpExchange(method, told.string("url").orEmpty(), headers, told.string("body"))
        running[stream] = scope.launch { exchange(stream, request, connection) }
    }

    private suspend fun exchange(stream: Long, request: HttpExchange, connection: Connection) {
        try {
            transport.exchange(
                request,
                { status, headers -> connection.response(stream, status, headers) },
                { bytes -> connection.body(stream, bytes) },
            )
            connection.exchanged(stream, null)
        } catch (cancelled: CancellationException) {
            throw cancelled
        } catch (error: IOException) {
            connection.exchanged(stream, reason(error))
        } catch (error: RuntimeException) {
            connection.exchanged(stream, reason(error)) // A transport of the user may throw anything.
        }
    }

    /** The libraries say little themselves; what happened is in the cause. */
    private fun reason(error: Throwable): String {
        val cause = error.cause?.takeIf { it !== error && words(it) !in words(error) } ?: return said(error)
        return "${said(error)}: ${said(cause)}"
    }

    private fun said(error: Throwable) = error.message?.takeIf { it.isNotEmpty() } ?: error.javaClass.simpleName

    fun isRunning(stream: Long): Boolean = stream in running

    fun forget(stream: Long) {
        running.remove(stream)
    }

    fun abort(stream: Long) {
        running.remove(stream)?.cancel()
    }

    override suspend fun closed() {}
}
