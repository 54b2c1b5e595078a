package dev.mcpkeel

import java.io.IOException
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.nio.channels.SelectionKey
import java.nio.channels.Selector
import java.nio.channels.ServerSocketChannel
import java.nio.channels.SocketChannel
import java.nio.channels.UnresolvedAddressException
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong
import kotlin.concurrent.thread
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeoutOrNull

/** A running HTTP server. */
public class HttpHandle internal constructor(private val server: Server, private val listener: HttpListener, path: String) {
    /** The port that it listens on. */
    public val port: Int = listener.address.port
    public val host: String = listener.address.address.hostAddress

    /** The endpoint. */
    public val url: String = "http://${if (':' in host) "[$host]" else host}:$port$path"

    /** Returns when the server is closed. */
    public suspend fun join(): Unit = listener.join()

    /** Closes the server: what runs is answered with an error first. */
    public suspend fun close(): Unit = server.close()
}

/** Raw bytes of each TCP connection go to the core, which knows HTTP. One thread waits for all of them. */
internal class HttpListener(private val host: String, private val port: Int, private val most: Int) : Transport {
    private val selector = Selector.open()
    private val acceptor = ServerSocketChannel.open()
    private val open = ConcurrentHashMap.newKeySet<Accepted>()
    private val done = CompletableDeferred<Unit>()

    /** For the one thread that reads. */
    private val buffer = ByteBuffer.allocateDirect(BUFFER)
    private lateinit var serving: Serving

    @Volatile
    private var stopped = false

    val address: InetSocketAddress get() = bound
    private lateinit var bound: InetSocketAddress

    override suspend fun start(serving: Serving, server: Server) {
        this.serving = serving
        try {
            acceptor.bind(InetSocketAddress(host, port))
        } catch (error: IOException) {
            throw unusable(error)
        } catch (error: UnresolvedAddressException) {
            throw unusable(error)
        } catch (error: IllegalArgumentException) {
            throw unusable(error)
        }
        bound = acceptor.localAddress as InetSocketAddress
        acceptor.configureBlocking(false)
        acceptor.register(selector, SelectionKey.OP_ACCEPT)
        val undo = Shutdown.add { server.close() }
        done.invokeOnCompletion { undo() }
        thread(isDaemon = true, name = "keel http $bound") { loop() }
    }

    private fun unusable(error: Exception): UsageError {
        acceptor.close()
        selector.close()
        return UsageError("cannot listen on $host:$port: ${words(error)}", cause = error)
    }

    override fun stop() {
        stopped = true
        selector.wakeup()
    }

    override suspend fun join() = done.await()

    override suspend fun join(limit: Long) {
        withTimeoutOrNull(limit) { done.await() }
        open.forEach { it.destroy() }
        selector.wakeup()
        done.await()
    }

    private fun loop() {
        try {
            while (!stopped || open.isNotEmpty()) {
                selector.select(if (open.any { it.lingers }) LINGER else 0)
                if (stopped) acceptor.close()
                val ready = selector.selectedKeys()
                for (key in ready) handle(key)
                ready.clear()
                open.forEach { it.look() }
            }
        } finally {
            acceptor.close()
            selector.close()
            done.complete(Unit)
        }
    }

    private fun handle(key: SelectionKey) {
        if (!key.isValid) return
        if (key.isAcceptable) return accept()
        val accepted = key.attachment() as Accepted
        if (key.isWritable) accepted.flush()
        if (key.isValid && key.isReadable) accepted.read()
    }

    private fun accept() {
        val channel = try {
            acceptor.accept() ?: return
        } catch (_: IOException) {
            return Thread.sleep(PAUSE) // Too many files are open, say: the next one may fit.
        }
        try {
            channel.configureBlocking(false)
            channel.socket().tcpNoDelay = true
            if (open.size >= most) {
                channel.write(ByteBuffer.wrap(BUSY))
                channel.close()
                return
            }
            val accepted = Accepted(channel, channel.register(selector, 0))
            open.add(accepted)
            accepted.begin()
        } catch (_: IOException) {
            channel.close()
        }
    }

    private inner class Accepted(private val channel: SocketChannel, private val key: SelectionKey) : Sink {
        private val waiting = ArrayDeque<ByteBuffer>()
        private val bytes = AtomicLong()
        private var stream = 0L
        private var wanted = SelectionKey.OP_READ
        private var closing = false

        @Volatile
        private var until = 0L

        override val queued: Long get() = bytes.get()

        /** Everything was sent; the client has still to see it, so that what it sent must be taken from the network. */
        val lingers: Boolean get() = until != 0L

        fun begin() {
            key.attach(this)
            stream = try {
                runBlocking { serving.open("http1", this@Accepted) }
            } catch (_: KeelException) {
                return destroy()
            }
            if (key.isValid) key.interestOps(wanted)
        }

        @Synchronized
        override fun write(bytes: ByteArray) {
            if (closing || !channel.isOpen) return
            this.bytes.addAndGet(bytes.size.toLong())
            waiting.addLast(ByteBuffer.wrap(bytes))
            if (waiting.size == 1) flush()
        }

        @Synchronized
        override fun close() {
            closing = true
            if (waiting.isEmpty()) linger()
        }

        override fun drop() = destroy()

        @Synchronized
        fun flush() {
            try {
                while (waiting.isNotEmpty()) {
                    val first = waiting.first()
                    val before = first.remaining()
                    channel.write(first)
                    count(first.remaining() - before)
                    if (first.hasRemaining()) break
                    waiting.removeFirst()
                }
            } catch (_: IOException) {
                return lost()
            }
            if (waiting.isEmpty() && closing) linger()
            want(SelectionKey.OP_WRITE, waiting.isNotEmpty())
        }

        private fun count(more: Int) {
            val left = bytes.addAndGet(more.toLong())
            if (left < FULL && left - more >= FULL) {
                want(SelectionKey.OP_READ, true)
                serving.drained()
            }
        }

        /** A connection that is closed with something unread is reset, and its answer lost. */
        private fun linger() {
            try {
                channel.shutdownOutput()
                until = System.nanoTime() + LINGER * 1_000_000
                want(SelectionKey.OP_READ, true)
                selector.wakeup()
            } catch (_: IOException) {
                destroy()
            }
        }

        fun look() {
            if (until != 0L && System.nanoTime() - until > 0) destroy()
        }

        fun read() {
            buffer.clear()
            val count = try {
                channel.read(buffer)
            } catch (_: IOException) {
                return lost()
            }
            if (until != 0L) return if (count < 0) destroy() else Unit
            if (count < 0) {
                want(SelectionKey.OP_READ, false)
                return runBlocking { serving.end(stream) }
            }
            serving.receiveBlocking(stream, ByteArray(count).also(buffer.flip()::get))
            // A client that does not read its answers gets no more requests served.
            if (queued >= FULL) want(SelectionKey.OP_READ, false)
        }

        @Synchronized
        private fun want(operation: Int, on: Boolean) {
            val now = if (on) wanted or operation else wanted and operation.inv()
            if (now == wanted || !key.isValid) return
            wanted = now
            key.interestOps(now)
            selector.wakeup()
        }

        private fun lost() {
            destroy()
            serving.goneLater(stream)
        }

        @Synchronized
        fun destroy() {
            waiting.clear()
            bytes.set(0)
            key.cancel()
            channel.close()
            if (open.remove(this)) selector.wakeup()
        }
    }

    private companion object {
        /** Milliseconds that a client has to read the last answer. */
        const val LINGER = 1000L

        /** Milliseconds until the next attempt to accept after one that failed. */
        const val PAUSE = 50L
        val BUSY = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".toByteArray()
    }
}
