package dev.mcpkeel

import java.util.concurrent.TimeUnit
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.future.await
import kotlinx.coroutines.withContext

/** A server as a bare process. */
private class Bare(command: List<String>) {
    val process: Process = ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start()
    private val lines = process.inputStream.bufferedReader()

    fun say(line: String) {
        process.outputStream.write("$line\n".toByteArray())
        process.outputStream.flush()
    }

    fun hear(): JsonObject = JsonValue.parse(lines.readLine() ?: error("it said nothing more")).asObject()

    fun rest(): String = lines.readText()

    fun code(): Int {
        holds(process.waitFor(10, TimeUnit.SECONDS)) { "it does not end" }
        return process.exitValue()
    }
}

private fun call(id: Int, tool: String, args: String) =
    """{"jsonrpc":"2.0","id":$id,"method":"tools/call","params":{"name":"$tool","arguments":$args}}"""

private const val HELLO = """{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},""" +
    """"clientInfo":{"name":"bare","version":"1"}}}"""

/** Processes, both ends. */
internal fun Suite.processes() {
    suspend fun bare(block: suspend (Bare) -> Unit) {
        // The label is what our own client sends; nothing else here knows of revisions.
        var revision = ""
        memory(fixture(), { mode = Mode.LEGACY }) { revision = it.revision }
        val bare = Bare(servers.getValue("own"))
        try {
            withContext(Dispatchers.IO) {
                bare.say(HELLO.format(revision))
                same(bare.hear().obj("result")?.obj("serverInfo")?.string("name"), "keel-fixture")
                bare.say("""{"jsonrpc":"2.0","method":"notifications/initialized"}""")
                block(bare)
            }
        } finally {
            bare.process.destroyForcibly()
        }
    }
    test("a server answers after a line that makes no sense, and ends with its input") {
        bare { server ->
            server.say("nonsense {")
            server.say(call(1, "echo", """{"text":"hi"}"""))
            val heard = generateSequence { server.hear() }.first { it["id"] == json(1) }
            same(ToolResult(heard.obj("result")!!).text, "hi")
            server.process.outputStream.close()
            same(server.rest(), "")
            same(server.code(), 0)
        }
    }
    test("a server answers what runs when its input ends") {
        bare { server ->
            server.say(call(1, "slow", """{"ms":300}"""))
            server.process.outputStream.close()
            same(server.hear()["id"], json(1))
            same(server.code(), 0)
        }
    }
    test("SIGTERM answers what runs") {
        bare { server ->
            server.say(call(1, "slow", """{"ms":60000}"""))
            server.say(call(2, "echo", """{"text":"hi"}"""))
            same(server.hear()["id"], json(2))
            server.process.toHandle().destroy() // That of the process itself would close its output.
            same(server.hear().obj("error")?.long("code"), -32603L)
            server.code()
        }
    }
    test("a server whose client reads no more ends") {
        bare { server ->
            server.process.inputStream.close()
            server.say(call(1, "echo", """{"text":"hi"}"""))
            server.code()
        }
    }
    test("a program that is not there") {
        val thrown = throws(Disconnected::class) { Client.connect(listOf("/no/such/program")) }
        holds("/no/such/program" in thrown.message)
        throws(UsageError::class) { Client.connect(emptyList<String>()) }
    }
    test("the last words of a server that ends at once") {
        val target = Target.Command(listOf("sh", "-c", "echo out of luck >&2; exit 3"), passErrors = false)
        val thrown = throws(Disconnected::class) { Client.connect(target) }
        holds("code 3" in thrown.message && "out of luck" in thrown.message) { thrown.toString() }
    }
    both("a server that is killed in a call") { era ->
        val sent = sign()
        val client = Client.connect(command("own")) {
            mode = era
            trace = { direction, message, _ -> if (direction == ">" && "slow" in message) sent.complete(Unit) }
        }
        client.use {
            val call = async { runCatching { client.callTool("slow", mapOf("ms" to 60_000)) } }
            sent.await()
            ProcessHandle.current().children().forEach { it.destroyForcibly() }
            val thrown = call.await().exceptionOrNull()
            holds(thrown is Disconnected) { "$thrown" }
            throws(Disconnected::class) { client.ping() }
        }
    }
    both("a server that prints something else first") { era ->
        val words = servers.getValue("own").joinToString(" ") { "'$it'" }
        val broken = Channel<String>(Channel.UNLIMITED)
        val target = Target.Command("sh", "-c", "echo welcome; echo '{'; exec $words")
        Client.connect(target) { mode = era; onViolation { code, _ -> broken.trySend(code) } }.use { client ->
            same(client.callTool("echo", mapOf("text" to "hi")).text, "hi")
            same(broken.receive(), "stray_output")
        }
    }
    test("what a server has started ends with it") {
        val words = servers.getValue("own").joinToString(" ") { "'$it'" }
        val client = Client.connect(listOf("sh", "-c", "sleep 1000 & exec $words"))
        val before = ProcessHandle.current().descendants().toList()
        holds(before.size >= 2) { "$before" }
        client.close()
        before.forEach { it.onExit().await() }
    }
    test("a server that does not end by itself") {
        val words = servers.getValue("own").joinToString(" ") { "'$it'" }
        val client = Client.connect(listOf("sh", "-c", "trap '' TERM; $words; sleep 1000"))
        client.close()
        holds(ProcessHandle.current().children().toList().none { it.isAlive })
    }
    test("a server that says nothing") {
        val thrown = throws(KeelException::class) {
            Client.connect(Target.Command("sleep", "1000")) { timeout = kotlin.time.Duration.parse("300ms") }
        }
        holds(thrown is RequestTimeout || thrown is Disconnected) { "$thrown" }
    }
}
