package dev.mcpkeel

import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.yield

private class Who : Fields() {
    val name by string()
}

/** A tool that runs until it is cancelled, and tells when. */
private class Hanging {
    val started = sign()
    val cancelled = sign()
    val server = Server("s", "1") {
        tool("hang") { _, context ->
            started.complete(Unit)
            try {
                context.progress(1)
                awaitCancellation()
            } finally {
                cancelled.complete(Unit)
            }
        }
        tool("echo") { args, _ -> args.string("text") }
    }
}

private fun asking(): Server = Server("s", "1") {
    tool("ask") { _, context -> context.elicit("Who?", ::Who)?.name ?: "nobody" }
    tool("sample") { _, context -> context.sample("say").text }
    tool("roots") { _, context -> context.roots().joinToString { it.uri } }
}

/** What clients make of what happens to their calls. */
internal fun Suite.calls() {
    both("cancelling the coroutine cancels the handler") { era ->
        val hanging = Hanging()
        memory(hanging.server, { mode = era }) { client ->
            val call = async { client.callTool("hang") }
            hanging.started.await()
            call.cancel()
            call.join()
            hanging.cancelled.await()
            same(client.callTool("echo", mapOf("text" to "after")).text, "after")
        }
    }
    both("a request that takes too long is cancelled") { era ->
        val hanging = Hanging()
        memory(hanging.server, { mode = era }) { client ->
            throws(RequestTimeout::class) { client.callTool("hang", options = RequestOptions(timeout = 200.milliseconds)) }
            hanging.cancelled.await()
            same(client.callTool("echo", mapOf("text" to "after")).text, "after")
        }
    }
    both("an observer that throws fails its call alone, which is cancelled") { era ->
        val hanging = Hanging()
        memory(hanging.server, { mode = era }) { client ->
            same(throws(IllegalStateException::class) { client.callTool("hang") { error("mine") } }.message, "mine")
            hanging.cancelled.await()
            same(client.callTool("echo", mapOf("text" to "after")).text, "after")
        }
    }
    both("closing the client ends what waits") { era ->
        val hanging = Hanging()
        val client = Client.connect(hanging.server) { mode = era }
        val call = async { runCatching { client.callTool("hang") } }
        hanging.started.await()
        client.close()
        holds(call.await().exceptionOrNull() is Disconnected)
        hanging.cancelled.await()
        throws(Disconnected::class) { client.ping() }
        client.close()
        hanging.server.close()
    }
    both("an observer may call the client") { era ->
        memory(fixture(), { mode = era }) { client ->
            val seen = ArrayList<String>()
            client.callTool("count", mapOf("to" to 3)) { seen.add(client.callTool("echo", mapOf("text" to it.message)).text) }
            same(seen, listOf("step 1", "step 2", "step 3"))
        }
    }
    both("questions are answered, declined, failed and not understood") { era ->
        memory(asking(), { mode = era; onElicit { ElicitResult.accept("name" to "Ada") } }) { same(it.callTool("ask").text, "Ada") }
        memory(asking(), { mode = era; onElicit { ElicitResult.decline() } }) { same(it.callTool("ask").text, "nobody") }
        memory(asking(), { mode = era; onElicit { error("no screen") } }) { client ->
            val asked = runCatching { client.callTool("ask") }
            holds(asked.isFailure || asked.getOrThrow().isError) { "$asked" }
        }
        memory(asking(), { mode = era; onElicit { ElicitResult.accept("name" to 7) } }) { client ->
            throws(PeerError::class) { client.callTool("ask") }
        }
        memory(asking(), { mode = era }) { client -> throws(PeerError::class) { client.callTool("ask") } }
    }
    both("models and folders are asked for") { era ->
        val setup: ClientOptions.() -> Unit = {
            mode = era
            onSample { SampleResult("said ${it.array("messages")?.size}", "m") }
            roots(Root("file:///a"), Root("file:///b"))
        }
        memory(asking(), setup) { client ->
            same(client.callTool("sample").text, "said 1")
            same(client.callTool("roots").text, "file:///a, file:///b")
        }
    }
    test("a question that is no longer wanted is cancelled") {
        val (asked, gone) = sign() to sign()
        val setup: ClientOptions.() -> Unit = {
            mode = Mode.MODERN // Older servers do not take questions back.
            onElicit {
                asked.complete(Unit)
                try {
                    awaitCancellation()
                } finally {
                    gone.complete(Unit)
                }
            }
        }
        memory(asking(), setup) { client ->
            val call = async { client.callTool("ask") }
            asked.await()
            call.cancel()
            gone.await()
        }
    }
    both("log messages come in order") { era ->
        val heard = Channel<String>(Channel.UNLIMITED)
        val setup: ClientOptions.() -> Unit = {
            mode = era
            onNotice { if (it.method == "notifications/message") heard.send(it.params["data"].toString()) }
        }
        memory(fixture(), setup) { client ->
            same(client.callTool("chatty", options = RequestOptions(logLevel = LogLevel.DEBUG)).text, "logged")
            same(List(3) { heard.receive() }, listOf("\"one\"", "\"two\"", "\"three\""))
        }
    }
    both("the trace has every message") { era ->
        val seen = ArrayList<String>()
        memory(fixture(), { mode = era; trace = { direction, message, _ -> seen.add("$direction $message") } }) { client ->
            client.callTool("echo", mapOf("text" to "marked"))
            same(seen.count { "marked" in it && it.startsWith(">") }, 1)
            same(seen.count { "marked" in it && it.startsWith("<") }, 1)
        }
    }
    both("many reports reach a slow observer in order, and then the result") { era ->
        memory(fixture(), { mode = era }) { client ->
            val seen = ArrayList<Double>()
            client.callTool("count", mapOf("to" to 500)) {
                yield()
                seen.add(it.progress)
            }
            same(seen, List(500) { it + 1.0 })
        }
    }
    both("a large message goes through") { era ->
        memory(fixture(), { mode = era }) { client ->
            val text = "grüß 🦀 ".repeat(300_000)
            holds(client.callTool("echo", mapOf("text" to text)).text == text)
        }
    }
    test("giving up connecting leaves nothing") {
        val asked = sign()
        val gone = sign()
        val transport = object : HttpTransport {
            override suspend fun exchange(
                request: HttpExchange,
                head: suspend (Int, List<Pair<String, String>>) -> Unit,
                body: suspend (ByteArray) -> Unit,
            ) = try {
                asked.complete(Unit)
                awaitCancellation()
            } finally {
                gone.complete(Unit)
            }
        }
        val connecting = async { Client.connect("http://127.0.0.1:1/mcp") { http = transport } }
        asked.await()
        connecting.cancel()
        connecting.join()
        same(connecting.isCancelled, true)
        gone.await()
    }
}
