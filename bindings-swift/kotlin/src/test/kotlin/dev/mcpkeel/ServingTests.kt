package dev.mcpkeel

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.withTimeout

/** What servers make of what handlers do. */
internal fun Suite.serving() {
    both("the fixture in memory") { era -> fixture().let { server -> checks(Target.Memory(server), era).also { server.close() } } }
    both("what tools may give") { era ->
        val server = Server("s", "1") {
            tool("text") { _, _ -> "hello" }
            tool("nothing") { _, _ -> }
            tool("map") { _, _ -> mapOf("a" to 1) }
            tool("number") { _, _ -> 7 }
            tool("list") { _, _ -> listOf(1, 2) }
            tool("image") { _, _ -> Content.image(byteArrayOf(1, 2), "image/png") }
            tool("blocks") { _, _ -> listOf(Content.text("a"), Content.text("b")) }
            tool("whole") { _, _ -> ToolResult.of(Content.text("no"), isError = true) }
        }
        memory(server, { mode = era }) { client ->
            suspend fun of(name: String) = client.callTool(name)
            same(of("text").text, "hello")
            same(of("nothing").content.size, 0)
            same(of("map").structured, jsonObject("a" to 1))
            same(of("map").text, "{\"a\":1}")
            same(of("number").text, "7")
            same(of("list").text, "[1,2]")
            same(of("image").content.single().raw.string("data"), "AQI=")
            same(of("blocks").text, "a\nb")
            same(of("whole").isError, true)
        }
    }
    both("what resources and prompts may give") { era ->
        val server = Server("s", "1") {
            resource("a://text", mimeType = "text/x") { _, _, _ -> "t" }
            resource("a://bytes") { _, _, _ -> byteArrayOf(-1) }
            resource("a://two") { uri, _, _ -> listOf("one", mapOf("uri" to "$uri/b", "text" to "two")) }
            prompt("text") { _, _ -> "say" }
            prompt("list") { _, _ -> listOf(PromptMessage("user", Content.text("q")), PromptMessage("assistant", Content.text("a"))) }
        }
        memory(server, { mode = era }) { client ->
            same(client.readResource("a://text").single().mimeType, "text/x")
            same(client.readResource("a://bytes").single().bytes?.toList(), listOf<Byte>(-1))
            same(client.readResource("a://two").map { it.uri to it.text }, listOf("a://two" to "one", "a://two/b" to "two"))
            same(client.getPrompt("text").messages.single().role, "user")
            same(client.getPrompt("list").messages.map { it.role }, listOf("user", "assistant"))
        }
    }
    both("whatever a handler throws is answered, without where it happened") { era ->
        val told = Channel<String>(Channel.UNLIMITED)
        val server = Server("s", "1") {
            tool("exception") { _, _ -> error("it broke") }
            tool("nameless") { _, _ -> throw IllegalStateException() }
            tool("error") { _, _ -> throw AssertionError("bad") }
            tool("deep") { _, _ -> endless(0) }
            tool("own timeout") { _, _ -> withTimeout(1.milliseconds) { awaitCancellation() } }
            tool("peer") { _, _ -> throw PeerError("no such city", -32602, jsonObject("city" to "x")) }
            tool("no json") { _, _ -> Any() }
            resource("a://b") { _, _, _ -> error("unreadable") }
            prompt("p") { _, _ -> 7 }
            onError { error, key -> told.trySend("$key: ${error.javaClass.simpleName}") }
        }
        memory(server, { mode = era }) { client ->
            for ((name, said) in listOf("exception" to "it broke", "nameless" to "IllegalStateException", "error" to "bad")) {
                val result = client.callTool(name)
                same(result.isError, true)
                same(result.text, said)
            }
            same(client.callTool("deep").text, "StackOverflowError")
            same(client.callTool("own timeout").isError, true)
            same(client.callTool("no json").isError, true)
            val peer = throws(PeerError::class) { client.callTool("peer") }
            same(Triple(peer.rpcCode, peer.message, peer.data), Triple(-32602L, "no such city", jsonObject("city" to "x")))
            same(throws(PeerError::class) { client.readResource("a://b") }.rpcCode, -32603L)
            same(throws(PeerError::class) { client.getPrompt("p") }.rpcCode, -32602L)
            same(told.receive(), "tools/call exception: IllegalStateException")
        }
    }
    both("a result that the core refuses is an error of the call") { era ->
        val server = Server("s", "1") {
            tool("wrong", output = jsonObject("type" to "object", "required" to listOf("a"))) { _, _ -> mapOf("b" to 1) }
            tool("right", output = jsonObject("type" to "object", "required" to listOf("a"))) { _, _ -> mapOf("a" to 1) }
        }
        memory(server, { mode = era }) { client ->
            val wrong = runCatching { client.callTool("wrong") }
            holds(wrong.getOrNull()?.isError == true || (wrong.exceptionOrNull() as? PeerError)?.rpcCode == -32603L) { "$wrong" }
            same(client.callTool("right").structured, jsonObject("a" to 1))
        }
    }
    both("handlers that block do not keep others from running") { era ->
        val all = CountDownLatch(20)
        val server = Server("s", "1") {
            tool("block") { _, _ ->
                all.countDown()
                all.await()
                "through"
            }
        }
        memory(server, { mode = era }) { client ->
            val calls = List(20) { async { client.callTool("block").text } }
            same(calls.awaitAll().toSet(), setOf("through"))
        }
    }
    both("a thousand calls at once") { era ->
        memory(fixture(), { mode = era }) { client ->
            val calls = List(1000) { number -> async { client.callTool("echo", mapOf("text" to "$number")).text } }
            same(calls.awaitAll(), List(1000) { "$it" })
        }
    }
    both("lists are walked page by page") { era ->
        val asked = AtomicInteger()
        val server = Server("s", "1") {
            pageSize = 2
            repeat(5) { tool("t$it") { _, _ -> "" } }
            trace = { direction, message, _ -> if (direction == "<" && "tools/list" in message) asked.incrementAndGet() }
        }
        memory(server, { mode = era }) { client ->
            same(client.listTools().take(1).toList().size, 1)
            same(asked.get(), 1)
            same(client.listTools().toList().map { it.name }, List(5) { "t$it" })
            same(client.request("tools/list", all = true).array("tools")?.size, 5)
        }
    }
    both("changes are told to those who listen") { era ->
        val server = Server("s", "1") {
            tool("first") { _, _ -> "" }
            resource("a://b") { _, _, _ -> "" }
        }
        memory(server, { mode = era }) { client ->
            val heard = Channel<Notice>(Channel.UNLIMITED)
            val listening = async { client.listen(tools = true, uris = listOf("a://b")).collect { heard.send(it) } }
            heard.receive() // Which of them the server agreed to.
            server.tool("second") { _, _ -> "" }
            same(heard.receive().method, "notifications/tools/list_changed")
            same(client.listTools().toList().size, 2)
            server.resourceUpdated("a://b")
            val updated = heard.receive()
            same(updated.method to updated.params.string("uri"), "notifications/resources/updated" to "a://b")
            server.removeTool("first")
            same(heard.receive().method, "notifications/tools/list_changed")
            listening.cancel()
            same(client.listTools().toList().map { it.name }, listOf("second"))
        }
    }
    both("closing a server answers what runs") { era ->
        val (running, started) = sign() to sign()
        val server = Server("s", "1") {
            tool("hang") { _, _ ->
                started.complete(Unit)
                try {
                    awaitCancellation()
                } finally {
                    running.complete(Unit)
                }
            }
        }
        Client.connect(server) { mode = era }.use { client ->
            val call = async { runCatching { client.callTool("hang") } }
            started.await()
            server.close()
            same((call.await().exceptionOrNull() as? PeerError)?.rpcCode, -32603L)
            running.await()
            throws(Disconnected::class) { client.callTool("hang") }
        }
        memory(server) { client -> same(client.listTools().toList().size, 1) } // It may be served anew.
    }
    test("a server that cannot be is a usage error") {
        val wrong = Server("s", "1") { limits = jsonObject("noSuchLimit" to 1) }
        same(throws(UsageError::class) { Client.connect(wrong) }.code, "config_invalid")
        val schema = Server("s", "1") { tool("t", input = jsonObject("type" to "string")) { _, _ -> "" } }
        throws(UsageError::class) { Client.connect(schema) }
        val late = Server("s", "1")
        memory(late) { throws(UsageError::class) { late.completion { _, _ -> emptyList() } } }
        same(throws(UsageError::class) { Client.connect(fixture()) { revision = "1999-01-01" } }.code, "config_invalid")
    }
    both("what a call knows of its client") { era ->
        val info = CompletableDeferred<CallInfo>()
        val server = Server("s", "1") {
            tool("who") { _, context ->
                info.complete(context.info())
                ""
            }
        }
        val setup: ClientOptions.() -> Unit = {
            mode = era
            name = "asker"
            roots(Root("file:///a"))
        }
        memory(server, setup) { client ->
            client.callTool("who", options = RequestOptions(meta = jsonObject("x/y" to 1)) )
            val told = info.await()
            same(told.client?.string("name"), "asker")
            holds("roots" in told.capabilities)
            same(told.meta["x/y"], json(1))
            same(told.revision, client.revision)
        }
    }
}

private fun endless(depth: Int): Int = endless(depth + 1) + 1

/** All checks of the fixture against a server. */
internal suspend fun checks(target: Target, era: Mode) {
    for ((name, check) in Checks(target, era, false).all) bounded(check)?.let { error("$name: $it") }
}
