/** The tests: `Tests NAME COMMAND… [-- NAME COMMAND…]…`, with the servers to talk to. The last line counts. */
@file:JvmName("Tests")

package dev.mcpkeel

import kotlin.reflect.KClass
import kotlin.system.exitProcess
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout

/** What is run, in order. */
internal class Suite(val servers: Map<String, List<String>>) {
    val tests = ArrayList<Pair<String, suspend CoroutineScope.() -> Unit>>()

    fun test(name: String, body: suspend CoroutineScope.() -> Unit) {
        tests.add(name to body)
    }

    /** The same with clients of both eras. */
    fun both(name: String, body: suspend CoroutineScope.(Mode) -> Unit) {
        for (era in listOf(Mode.LEGACY, Mode.MODERN)) test("$name ($era)") { body(era) }
    }

    /** The command line of a server. */
    fun command(name: String): Target.Command = Target.Command(servers.getValue(name))
}

internal fun holds(found: Boolean, what: () -> String = { "it does not hold" }) {
    if (!found) error(what())
}

/** Runs [block], which must throw this error. */
internal suspend fun <T : Throwable> throws(kind: KClass<T>, block: suspend () -> Unit): T {
    try {
        block()
    } catch (thrown: Throwable) {
        if (kind.isInstance(thrown)) @Suppress("UNCHECKED_CAST") return thrown as T
        throw AssertionError("it threw $thrown, not ${kind.simpleName}", thrown)
    }
    error("it did not throw ${kind.simpleName}")
}

/** A server in this process, its client, and both closed. */
internal suspend fun memory(server: Server, setup: ClientOptions.() -> Unit = {}, block: suspend (Client) -> Unit) {
    try {
        Client.connect(server, setup).use { block(it) }
    } finally {
        server.close()
    }
}

/** Something that is told once. */
internal typealias Sign = CompletableDeferred<Unit>

internal fun sign(): Sign = CompletableDeferred()

public fun main(words: Array<String>) {
    val servers = HashMap<String, List<String>>()
    var rest = words.toList()
    while (rest.isNotEmpty()) {
        val own = rest.takeWhile { it != "--" }
        servers[own.first()] = own.drop(1)
        rest = rest.drop(own.size + 1)
    }
    val suite = Suite(servers).apply {
        values()
        serving()
        calls()
        sockets()
        processes()
        peers()
    }
    var failed = 0
    for ((name, body) in suite.tests) {
        val thrown = runCatching { runBlocking(Dispatchers.Default) { withTimeout(30.seconds, body) } }.exceptionOrNull()
        println(if (thrown == null) "ok      $name" else "FAILED  $name: $thrown")
        if (thrown != null) {
            thrown.printStackTrace()
            failed++
        }
    }
    println("${suite.tests.size - failed} passed, $failed failed")
    exitProcess(if (failed == 0) 0 else 1)
}
