package dev.mcpkeel

import java.util.concurrent.TimeUnit
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.withContext

/** Servers of others. */
internal fun Suite.peers() {
    for (era in Mode.entries) {
        test("the fixture of Python over stdio ($era)") { checks(command("python").let { Target.Command(it.command + "--stdio") }, era) }
    }
    test("the fixture of Python over HTTP") {
        val process = withContext(Dispatchers.IO) {
            ProcessBuilder(servers.getValue("python") + listOf("--http", "0")).redirectError(ProcessBuilder.Redirect.INHERIT).start()
        }
        try {
            val line = withContext(Dispatchers.IO) { process.inputStream.bufferedReader().readLine() }
            for (era in Mode.entries) checks(Target.Url("http://127.0.0.1:${line.removePrefix("listening ")}/mcp"), era)
        } finally {
            process.destroy()
            holds(withContext(Dispatchers.IO) { process.waitFor(5, TimeUnit.SECONDS) })
        }
    }
    test("the public server of all features") { everything(command("everything")) }
}

private suspend fun everything(command: Target.Command) {
    val target = Target.Command(command.command, passErrors = false)
    val setup: ClientOptions.() -> Unit = {
        onElicit { ElicitResult.accept("name" to "Ada") }
        onSample { SampleResult("sampled here", "m") }
        roots(Root("file:///a", "a"))
    }
    Client.connect(target, setup).use { client ->
        same(client.era, Mode.LEGACY)
        holds("get-sum" in client.listTools().toList().map { it.name })
        same(client.callTool("echo", mapOf("message" to "grüß 🦀")).text, "Echo: grüß 🦀")
        same(client.callTool("get-sum", mapOf("a" to 2, "b" to 3.5)).text, "The sum of 2 and 3.5 is 5.5.")
        val weather = client.callTool("get-structured-content", mapOf("location" to "Chicago")).structured
        same(weather?.asObject()?.long("temperature"), 36L)
        val seen = ArrayList<Double>()
        val steps = mapOf("duration" to 0.1, "steps" to 3)
        holds("completed" in client.callTool("trigger-long-running-operation", steps) { seen.add(it.progress) }.text)
        same(seen, listOf(1.0, 2.0, 3.0))
        holds("sampled here" in client.callTool("trigger-sampling-request", mapOf("prompt" to "p", "maxTokens" to 5)).text)
        holds("Ada" in client.callTool("trigger-elicitation-request").text)
        holds("file:///a" in client.callTool("get-roots-list").text)
        val first = client.listResources().toList().first()
        holds(client.readResource(first.uri).isNotEmpty())
        holds(client.listPrompts().toList().isNotEmpty())
        same(throws(PeerError::class) { client.request("no/such") }.rpcCode, -32601L)
        client.ping()
    }
}
