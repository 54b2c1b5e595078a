package dev.mcpkeel

import java.io.FileDescriptor
import java.io.FileInputStream
import java.io.FileOutputStream
import java.io.IOException
import java.util.concurrent.CopyOnWriteArrayList
import kotlin.concurrent.thread
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeoutOrNull

/** What carries the messages of a server. */
internal interface Transport {
    suspend fun start(serving: Serving, server: Server)

    /** Accepts nothing new. Called before the core closes what is open. */
    fun stop()

    /** Returns when everything is delivered and closed. */
    suspend fun join()

    /** The same, but cuts off after so many milliseconds. */
    suspend fun join(limit: Long)
}

/** Milliseconds for what must be done when the process ends. */
private const val GRACE = 2000L

/** Closes what is open when the process is asked to end. */
internal object Shutdown {
    private val closers = CopyOnWriteArrayList<suspend () -> Unit>()

    init {
        Runtime.getRuntime().addShutdownHook(
            Thread {
                runBlocking { withTimeoutOrNull(GRACE) { for (close in closers) close() } }
            },
        )
    }

    /** Gives what takes it back. */
    fun add(close: suspend () -> Unit): () -> Unit {
        closers.add(close)
        return { closers.remove(close) }
    }
}

/** This process's standard input and output. Both are read and written by threads: nothing else can wait for them. */
internal class StdioTransport : Transport {
    private val done = CompletableDeferred<Unit>()

    override suspend fun start(serving: Serving, server: Server) {
        val print = System.out
        System.setOut(System.err)
        val undo = Shutdown.add { server.close() }
        done.invokeOnCompletion {
            System.setOut(print)
            undo()
        }
        val outbox = Outbox(serving::drained)
        val stream = serving.open("pipe", outbox)
        thread(isDaemon = true, name = "keel stdin") { read(serving, stream, outbox) }
        thread(isDaemon = true, name = "keel stdout") { write(serving, stream, outbox) }
    }

    private fun read(serving: Serving, stream: Long, outbox: Outbox) = runBlocking {
        val input = FileInputStream(FileDescriptor.`in`)
        val buffer = ByteArray(BUFFER)
        try {
            while (true) {
                val count = input.read(buffer)
                if (count < 0) break
                serving.receive(stream, outbox, buffer.copyOf(count))
            }
        } catch (_: IOException) {
            // Ends like the end of input.
        }
        serving.end(stream)
        watchParent(serving, stream)
    }

    /** Calls may still run. That their client is gone altogether shows at a write alone, or when it was our parent. */
    private fun watchParent(serving: Serving, stream: Long) {
        val parent = ProcessHandle.current().parent().orElse(null) ?: return
        parent.onExit().thenRun {
            runBlocking { serving.gone(stream) }
            done.complete(Unit)
        }
    }

    private fun write(serving: Serving, stream: Long, outbox: Outbox) = runBlocking {
        val output = FileOutputStream(FileDescriptor.out)
        try {
            outbox.empty { output.write(it) }
        } catch (_: IOException) {
            serving.gone(stream)
        }
        done.complete(Unit)
    }

    override fun stop() {}

    override suspend fun join() = done.await()

    override suspend fun join(limit: Long) {
        withTimeoutOrNull(limit) { done.await() }
        done.complete(Unit)
    }
}

/** Bytes read at once. */
internal const val BUFFER = 64 * 1024
