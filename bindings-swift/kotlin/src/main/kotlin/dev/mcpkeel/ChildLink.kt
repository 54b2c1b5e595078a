package dev.mcpkeel

import java.io.File
import java.io.IOException
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.TimeUnit
import kotlin.concurrent.thread
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext

/** A server as a child process: its messages on stdin and stdout, all that it started ended with it. */
internal class ChildLink(private val target: Target.Command) : PipeLink() {
    private var process: Process? = null
    private val tail = StringBuffer()

    /** What the child started, as far as it was seen before the child ended. */
    private val descendants = LinkedHashSet<ProcessHandle>()

    override suspend fun open(connection: Connection, scope: CoroutineScope) {
        val builder = ProcessBuilder(target.command)
        builder.environment().putAll(target.environment)
        target.folder?.let { builder.directory(File(it)) }
        val process = try {
            withContext(Dispatchers.IO) { builder.start() }
        } catch (error: IOException) {
            throw Disconnected("cannot start ${target.command[0]}: ${words(error)}", cause = error)
        }
        this.process = process
        Children.add(process)
        val errors = thread(isDaemon = true, name = "keel child stderr") { listen(process) }
        thread(isDaemon = true, name = "keel child stdout") { read(process, connection, errors) }
        thread(isDaemon = true, name = "keel child stdin") { write(process) }
    }

    private fun read(process: Process, connection: Connection, errors: Thread) {
        val buffer = ByteArray(BUFFER)
        try {
            while (true) {
                val count = process.inputStream.read(buffer)
                if (count < 0) break
                connection.receiveBlocking(buffer.copyOf(count))
            }
        } catch (_: IOException) {
            // Closed by us.
        }
        // The exit code and the last words come a little later than the end of the output.
        process.waitFor(LATE, TimeUnit.MILLISECONDS)
        errors.join(LATE)
        connection.endedBlocking(words(process))
    }

    private fun write(process: Process) = runBlocking {
        try {
            process.outputStream.use { output ->
                outbox.empty {
                    output.write(it)
                    output.flush()
                }
            }
        } catch (_: IOException) {
            outbox.drop() // It shows at its output.
        }
    }

    private fun listen(process: Process) {
        val buffer = ByteArray(BUFFER)
        try {
            while (true) {
                val count = process.errorStream.read(buffer)
                if (count < 0) break
                synchronized(tail) {
                    tail.append(String(buffer, 0, count))
                    if (tail.length > TAIL) tail.delete(0, tail.length - TAIL)
                }
                if (target.passErrors) System.err.write(buffer, 0, count)
            }
        } catch (_: IOException) {
            // Closed by us.
        }
    }

    private fun words(process: Process): String {
        val how = if (process.isAlive) "closed its output" else "exited with code ${process.exitValue()}"
        val said = tail.toString().trim()
        return "${target.command[0]} $how${if (said.isEmpty()) "" else "; its last words: $said"}"
    }

    override suspend fun closed() = withContext(Dispatchers.IO + NonCancellable) {
        val process = process ?: return@withContext
        look(process)
        outbox.close()
        if (!process.waitFor(STEP, TimeUnit.MILLISECONDS)) {
            look(process)
            process.destroy()
            if (!process.waitFor(STEP, TimeUnit.MILLISECONDS)) process.destroyForcibly().waitFor(STEP, TimeUnit.MILLISECONDS)
        }
        outbox.drop()
        // What the server left behind goes with it.
        descendants.forEach { it.destroyForcibly() }
        Children.remove(process)
        close(process)
    }

    /** Those who outlive the child have another parent then, and are not found any more. */
    private fun look(process: Process) {
        process.descendants().forEach(descendants::add)
    }

    private fun close(process: Process) {
        try {
            process.inputStream.close()
            process.errorStream.close()
        } catch (_: IOException) {
            // Nothing is left of it.
        }
    }

    private companion object {
        /** Milliseconds for each step of ending a child: after its input ends, after SIGTERM. */
        const val STEP = 2000L

        /** Milliseconds to wait for what comes late: the exit code after the end of output. */
        const val LATE = 250L

        /** Characters of standard error kept for error texts. */
        const val TAIL = 2000
    }
}

/** Children end with this process, also when nobody closed their client. */
private object Children {
    private val running = ConcurrentHashMap.newKeySet<Process>()

    init {
        Runtime.getRuntime().addShutdownHook(
            Thread {
                for (process in running) {
                    process.descendants().forEach { it.destroy() }
                    process.destroy()
                }
            },
        )
    }

    fun add(process: Process) {
        running.add(process)
    }

    fun remove(process: Process) {
        running.remove(process)
    }
}
