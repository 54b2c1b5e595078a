package dev.mcpkeel

import dev.mcpkeel.flat.FlatException
import dev.mcpkeel.flat.FlatRecord
import java.io.ByteArrayOutputStream
import java.security.SecureRandom
import java.util.concurrent.atomic.AtomicLong
import java.util.logging.Level
import java.util.logging.Logger
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.Job
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.channels.BufferOverflow
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ClosedSendChannelException
import kotlinx.coroutines.channels.trySendBlocking
import kotlinx.coroutines.completeWith
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.launch
import kotlinx.coroutines.selects.onTimeout
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.withContext

/** Milliseconds of the clock that every object is fed with. */
internal fun now(): Long = (System.nanoTime() - BORN) / 1_000_000 + 1

private val BORN = System.nanoTime()

internal fun randomSeed(): ByteArray = ByteArray(32).also { SecureRandom().nextBytes(it) }

internal fun FlatRecord.string(): String = text.decodeToString()

/** Commands of others wait here when they come faster than they are done. */
private const val INBOX = 256

/**
 * One coroutine that owns one flat object: commands one after the other, and the one timer for `wait`. It never suspends but
 * for the next command, and runs no handlers, so that whoever waits for it is served soon.
 */
internal abstract class Driver(scope: CoroutineScope) {
    private val inbox = Channel<() -> Unit>(INBOX)
    private val job: Job
    private var due = 0L
    private var stopped = false

    init {
        job = scope.launch { loop() }
    }

    /** Records of the object, to be performed in order. */
    protected abstract fun perform(record: FlatRecord)

    /** The deadline of `wait` has come. */
    protected abstract fun timeout(now: Long): List<FlatRecord>

    /** The object had an internal error. */
    protected abstract fun broken(error: KeelException)

    /** After the last command; the object may be freed. */
    protected abstract fun free()

    /** What is to be done once all records of one command were performed. */
    protected open fun settled() {}

    /** Has a command done; returns when it is taken. Nothing happens once the driver has ended. */
    suspend fun post(command: () -> Unit) {
        try {
            inbox.send(command)
        } catch (_: ClosedSendChannelException) {
            // What comes after the end changes nothing.
        }
    }

    /** The same for threads that may wait. */
    fun postBlocking(command: () -> Unit) {
        inbox.trySendBlocking(command)
    }

    /** The same for those that may not wait: done when there is room. */
    fun postLater(scope: CoroutineScope, command: () -> Unit) {
        if (inbox.trySend(command).isFailure) scope.launch { post(command) }
    }

    /** Has a command done and gives what it gave. [over] is thrown when the driver has ended. */
    suspend fun <T> ask(over: () -> KeelException, command: () -> T): T {
        val answer = CompletableDeferred<T>()
        try {
            inbox.send { answer.completeWith(runCatching(command)) }
        } catch (_: ClosedSendChannelException) {
            throw over()
        }
        return answer.await()
    }

    /** Ends after the commands that are there. */
    suspend fun stop() {
        withContext(NonCancellable) {
            post { stopped = true }
            job.join()
        }
    }

    /** Input from outside. What goes wrong with it is nobody's call. */
    protected fun feed(input: (now: Long) -> List<FlatRecord>) {
        try {
            perform(input(now()))
        } catch (refused: FlatException) {
            val error = fromCore(refused)
            if (error is InternalError) broken(error)
        }
    }

    /** A command of the user. What the core refuses is thrown. */
    protected fun act(command: (now: Long) -> List<FlatRecord>) {
        val records = try {
            command(now())
        } catch (refused: FlatException) {
            val error = fromCore(refused)
            if (error is InternalError) broken(error)
            throw error
        }
        perform(records)
    }

    private fun perform(records: List<FlatRecord>) {
        for (record in records) if (record.kind == "wait") due = record.until else perform(record)
        settled()
    }

    private suspend fun loop() {
        try {
            while (!stopped) next()?.let(::run)
        } finally {
            inbox.close()
            for (left in inbox) run(left)
            free()
        }
    }

    /** Commands tell those who wait for them of their failures. What is left is a defect of ours. */
    private fun run(command: () -> Unit) {
        try {
            command()
        } catch (defect: Exception) {
            broken(InternalError("internal error: ${words(defect)}", defect))
        }
    }

    /** The next command; null when the deadline has come instead. */
    @OptIn(ExperimentalCoroutinesApi::class)
    private suspend fun next(): (() -> Unit)? {
        val wait = if (due == 0L) Long.MAX_VALUE else due - now()
        if (wait <= 0) {
            due = 0
            feed { timeout(it) }
            return null
        }
        val ready = inbox.tryReceive()
        if (ready.isSuccess) return ready.getOrThrow()
        if (due == 0L) return inbox.receive()
        return select {
            inbox.onReceive { it }
            onTimeout(wait) { null }
        }
    }
}

/** One byte stream of a host. */
internal interface Sink {
    /** Must not wait. */
    fun write(bytes: ByteArray)

    /** Closes once all is written. */
    fun close()

    /** Nobody takes anything any more. */
    fun drop()

    /** Bytes that the other side has not taken yet. */
    val queued: Long
}

/** With so many bytes queued a stream is full: nothing more is read from it, and no new calls of it start. */
internal const val FULL = 1024L * 1024

/** So many bytes are written at once when they are there. */
private const val PIECE = 64 * 1024

/** A sink that a coroutine empties. [drained] is told when it is no longer full. */
internal class Outbox(private val drained: () -> Unit = {}) : Sink {
    private val chunks = Channel<ByteArray>(Channel.UNLIMITED)
    private val bytes = AtomicLong()

    override val queued: Long get() = bytes.get()

    override fun write(bytes: ByteArray) {
        this.bytes.addAndGet(bytes.size.toLong())
        if (chunks.trySend(bytes).isFailure) count(-bytes.size)
    }

    override fun close() {
        chunks.close()
    }

    override fun drop() {
        chunks.close()
        while (true) chunks.tryReceive().getOrNull()?.let { count(-it.size) } ?: break
    }

    /** Takes what there is, piece after piece, until this is closed. */
    suspend fun empty(take: suspend (ByteArray) -> Unit) {
        for (chunk in chunks) {
            val piece = gather(chunk)
            try {
                take(piece)
            } finally {
                count(-piece.size)
            }
        }
    }

    private fun gather(first: ByteArray): ByteArray {
        if (first.size >= PIECE) return first
        val more = chunks.tryReceive().getOrNull() ?: return first
        val all = ByteArrayOutputStream(first.size + more.size).apply { write(first) }
        all.write(more)
        while (all.size() < PIECE) all.write(chunks.tryReceive().getOrNull() ?: break)
        return all.toByteArray()
    }

    private fun count(more: Int) {
        val left = bytes.addAndGet(more.toLong())
        if (left < FULL && left - more >= FULL) drained()
    }
}

/** Notifications are told one after the other by a coroutine; of more than this that wait, the oldest go. */
private const val TOLD = 1024

/** Runs observers of the user in order, away from the driver. What they throw is not the connection's affair. */
internal class Teller(scope: CoroutineScope) {
    private val queue = Channel<suspend () -> Unit>(TOLD, BufferOverflow.DROP_OLDEST)

    init {
        scope.launch {
            for (tell in queue) {
                try {
                    tell()
                } catch (cancelled: CancellationException) {
                    coroutineContext.ensureActive()
                } catch (thrown: Exception) {
                    LOG.log(Level.WARNING, "an observer threw", thrown)
                }
            }
        }
    }

    fun tell(observer: suspend () -> Unit) {
        queue.trySend(observer)
    }

    fun close() {
        queue.close()
    }
}

internal val LOG: Logger = Logger.getLogger("dev.mcpkeel")
