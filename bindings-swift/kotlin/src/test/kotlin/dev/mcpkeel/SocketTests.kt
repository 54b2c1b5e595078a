package dev.mcpkeel

import java.io.IOException
import java.net.InetAddress
import java.net.ServerSocket
import java.net.Socket
import kotlin.concurrent.thread
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation

private val LOOPBACK = InetAddress.getLoopbackAddress()

private suspend fun served(server: Server = fixture(), most: Int = 4096, block: suspend (HttpHandle) -> Unit) {
    try {
        block(server.serveHttp(maxConnections = most))
    } finally {
        server.close()
    }
}

/** What a server answers to these bytes, until it closes. */
private fun raw(port: Int, request: String): String = Socket(LOOPBACK, port).use { socket ->
    socket.getOutputStream().write(request.toByteArray())
    String(socket.getInputStream().readAllBytes())
}

/** A server that answers each request with these bytes, and then closes. */
private suspend fun answering(answer: String, block: suspend (String) -> Unit) {
    ServerSocket(0, 50, LOOPBACK).use { acceptor ->
        thread(isDaemon = true) {
            try {
                while (true) acceptor.accept().use { socket ->
                    socket.getInputStream().read(ByteArray(BUFFER))
                    socket.getOutputStream().write(answer.toByteArray())
                }
            } catch (_: IOException) {
                // The test is over.
            }
        }
        block("http://127.0.0.1:${acceptor.localPort}/mcp")
    }
}

/** HTTP, both ends. */
internal fun Suite.sockets() {
    both("the fixture over HTTP") { era -> served { checks(Target.Url(it.url), era) } }
    both("many HTTP calls at once") { era ->
        served { handle ->
            Client.connect(handle.url) { mode = era }.use { client ->
                val calls = List(100) { number -> async { client.callTool("echo", mapOf("text" to "$number")).text } }
                same(calls.awaitAll(), List(100) { "$it" })
            }
        }
    }
    both("a large message over HTTP") { era ->
        served { handle ->
            Client.connect(handle.url) { mode = era }.use { client ->
                val text = "x".repeat(3_000_000)
                holds(client.callTool("echo", mapOf("text" to text)).text == text)
            }
        }
    }
    both("closing an HTTP server answers what runs") { era ->
        val started = sign()
        val server = Server("s", "1") {
            tool("hang") { _, _ ->
                started.complete(Unit)
                awaitCancellation()
            }
        }
        served(server) { handle ->
            Client.connect(handle.url) { mode = era }.use { client ->
                val call = async { runCatching { client.callTool("hang") } }
                started.await()
                handle.close()
                same((call.await().exceptionOrNull() as? PeerError)?.rpcCode, -32603L)
            }
        }
    }
    both("a client that goes away cancels its calls") { era ->
        val (started, cancelled) = sign() to sign()
        val server = Server("s", "1") {
            tool("hang") { _, _ ->
                started.complete(Unit)
                try {
                    awaitCancellation()
                } finally {
                    cancelled.complete(Unit)
                }
            }
        }
        served(server) { handle ->
            val client = Client.connect(handle.url) { mode = era }
            val call = async { runCatching { client.callTool("hang") } }
            started.await()
            client.close()
            cancelled.await()
            holds(call.await().isFailure)
        }
    }
    test("a port that is taken, and a host that is none, are usage errors") {
        served { handle ->
            throws(UsageError::class) { fixture().serveHttp(handle.port) }
            throws(UsageError::class) { fixture().serveHttp(0, "no.such.host.invalid") }
            throws(UsageError::class) { fixture().serveHttp(99_999) }
        }
    }
    test("nobody listens") {
        val port = ServerSocket(0, 1, LOOPBACK).use { it.localPort }
        throws(Disconnected::class) { Client.connect("http://127.0.0.1:$port/mcp") }
        throws(KeelException::class) { Client.connect("no url") }
    }
    test("hostile requests leave the server serving") {
        served { handle ->
            holds(raw(handle.port, "nonsense\r\n\r\n").startsWith("HTTP/1.1 400"))
            holds(raw(handle.port, "GET /other HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").startsWith("HTTP/1.1 404"))
            Socket(LOOPBACK, handle.port).use { socket ->
                socket.getOutputStream().write("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{".toByteArray())
                socket.shutdownOutput()
                same(socket.getInputStream().read(), -1)
            }
            Socket(LOOPBACK, handle.port).use { it.setSoLinger(true, 0) }
            val foreign = "POST /mcp HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}"
            holds(raw(handle.port, foreign).startsWith("HTTP/1.1 403"))
            checks(Target.Url(handle.url), Mode.MODERN)
        }
    }
    test("connections above the limit are told so") {
        served(most = 1) { handle ->
            Socket(LOOPBACK, handle.port).use { first ->
                first.getOutputStream().write("GET /x HTTP/1.1\r\nhost: localhost\r\n\r\n".toByteArray())
                first.getInputStream().read()
                holds(raw(handle.port, "").startsWith("HTTP/1.1 503"))
            }
        }
    }
    test("a client that does not read does not stop others") {
        val server = Server("s", "1") { tool("much") { _, _ -> "x".repeat(1_000_000) } }
        served(server) { handle ->
            Socket(LOOPBACK, handle.port).use { deaf ->
                val call = """{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"much","arguments":{}}}"""
                val request = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n" +
                    "accept: application/json, text/event-stream\r\ncontent-length: ${call.length}\r\n\r\n$call"
                deaf.getOutputStream().write(request.repeat(20).toByteArray())
                Client.connect(handle.url).use { client -> same(client.callTool("much").text.length, 1_000_000) }
            }
        }
    }
    test("answers that make no sense are told as errors") {
        val answers = listOf(
            "nonsense\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\nnull",
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{",
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi",
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n",
        )
        for (answer in answers) for (era in Mode.entries) answering(answer) { url ->
            throws(KeelException::class) { Client.connect(url) { mode = era } }
        }
    }
    test("a transport that throws anything is a broken connection") {
        val transport = object : HttpTransport {
            override suspend fun exchange(
                request: HttpExchange,
                head: suspend (Int, List<Pair<String, String>>) -> Unit,
                body: suspend (ByteArray) -> Unit,
            ): Unit = throw NullPointerException("of the transport")
        }
        val thrown = throws(Disconnected::class) { Client.connect("http://127.0.0.1:1/mcp") { http = transport } }
        holds("of the transport" in thrown.message) { thrown.toString() }
    }
}
