/** The client of the fixture, the same in every language: `--era ERA (--http URL | --stdio -- COMMAND…) [--verbose]`. */
@file:JvmName("FixtureClient")

package dev.mcpkeel

import java.math.BigInteger
import kotlin.system.exitProcess
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.withTimeout

private val TOOLS = setOf("echo", "add", "count", "ask_name", "slow", "fail", "chatty")

internal fun same(found: Any?, wanted: Any?) {
    if (found != wanted) error("got $found, wanted $wanted")
}

internal class Checks(private val target: Target, private val era: Mode, private val verbose: Boolean) {
    private lateinit var client: Client
    private val sent = CompletableDeferred<Unit>()

    val all: List<Pair<String, suspend () -> Unit>> = listOf(
        "connect" to { connect() },
        "tools" to { tools() },
        "echo" to {
            val text = "grüß 🦀 \u0000\n\""
            same(client.callTool("echo", mapOf("text" to text)).text, text)
        },
        "big" to {
            val result = client.callTool("add", mapOf("a" to 9007199254740993, "b" to 1))
            same(result.structured?.asObject()?.get("result")?.asBigInteger(), BigInteger("9007199254740994"))
        },
        "progress" to {
            val seen = ArrayList<Double>()
            val result = client.callTool("count", mapOf("to" to 3)) { seen.add(it.progress) }
            same(seen, listOf(1.0, 2.0, 3.0))
            same(result.text, "counted to 3")
        },
        "elicitation" to { same(client.callTool("ask_name").text, "Hello, Ada!") },
        "resource" to { same(client.readResource("memo://greeting").single().text, "Hello from the fixture") },
        "template" to { same(client.readResource("memo://item/7").single().text, "item 7") },
        "prompt" to {
            same(client.getPrompt("greet", mapOf("name" to "Ada")).messages.single().content.text, "Please greet Ada.")
        },
        "completion" to { same(client.completePrompt("greet", "name", "a").values, listOf("ada", "alan")) },
        "error" to {
            val thrown = runCatching { client.callTool("nope") }.exceptionOrNull()
            same((thrown as? PeerError)?.rpcCode, -32602L)
        },
        "tool_error" to {
            val result = client.callTool("fail")
            same(result.isError, true)
            same("it failed" in result.text, true)
        },
        "cancel" to { cancel() },
        "close" to { client.close() },
    )

    private suspend fun connect() {
        client = Client.connect(target) {
            name = "keel-fixture-client"
            version = "1.0.0"
            mode = era
            onElicit { request ->
                same(request.message, "What is your name?")
                ElicitResult.accept("name" to "Ada")
            }
            trace = { direction, message, _ ->
                if (verbose) System.err.println("$direction $message")
                if (direction == ">" && "\"slow\"" in message) sent.complete(Unit)
            }
        }
        if (era != Mode.AUTO) same(client.era, era)
    }

    private suspend fun tools() {
        val found = client.listTools().toList().map { it.name }.toSet()
        if (!found.containsAll(TOOLS)) error("missing ${TOOLS - found}")
    }

    private suspend fun cancel() = supervisorScope {
        val call = async { client.callTool("slow", mapOf("ms" to 60_000)) }
        select {
            sent.onAwait {}
            call.onAwait { error("slow ended: ${it.text}") }
        }
        call.cancel()
        withTimeout(1.seconds) { call.join() }
        same(call.isCancelled, true)
        same(client.callTool("echo", mapOf("text" to "after")).text, "after")
    }
}

/** Runs a check; gives why it does not hold. */
internal suspend fun bounded(check: suspend () -> Unit): String? = try {
    withTimeout(10.seconds) { check() }
    null
} catch (thrown: Exception) {
    "${thrown.javaClass.simpleName}: ${thrown.message}"
}

public fun main(words: Array<String>) {
    val split = words.indexOf("--").let { if (it < 0) words.size else it }
    val options = words.take(split)
    val era = Mode.valueOf(options[options.indexOf("--era") + 1].uppercase())
    val target = if ("--http" in options) Target.Url(options[options.indexOf("--http") + 1])
    else Target.Command(words.drop(split + 1))
    val failed = runBlocking(Dispatchers.Default) {
        val checks = Checks(target, era, "--verbose" in options).all
        var connected = true
        checks.count { (name, check) ->
            val error = if (connected) bounded(check) else "not connected"
            if (name == "connect") connected = error == null
            println(jsonObject("check" to name, "ok" to (error == null), "error" to error))
            error != null
        }
    }
    exitProcess(if (failed == 0) 0 else 1)
}
