/** The server of the fixture, which every language has: `--stdio`, or `--http PORT`. */
@file:JvmName("FixtureServer")

package dev.mcpkeel

import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking

private class Echo : Fields() {
    val text by string()
}

private class Add : Fields() {
    val a by integer()
    val b by integer()
}

private class Count : Fields() {
    val to by int(more = jsonObject("minimum" to 1))
}

private class Person : Fields() {
    val name by string()
}

private class Slow : Fields() {
    val ms by long()
}

private val sum = jsonObject(
    "type" to "object",
    "properties" to mapOf("result" to mapOf("type" to "integer")),
    "required" to listOf("result"),
)

internal fun fixture(): Server = Server("keel-fixture", "1.0.0") {
    tool("echo", "Gives back the text.", ::Echo) { args, _ -> args.text }
    tool("add", "Adds two integers.", ::Add, sum) { args, _ -> mapOf("result" to args.a + args.b) }
    tool("count", "Counts, and tells how far it is.", ::Count) { args, context ->
        for (step in 1..args.to) context.progress(step, args.to, "step $step")
        "counted to ${args.to}"
    }
    tool("ask_name", "Asks for a name and greets.") { _, context ->
        context.elicit("What is your name?", ::Person)?.let { "Hello, ${it.name}!" } ?: "No name given"
    }
    tool("slow", "Waits, and may be cancelled.", ::Slow) { args, _ ->
        delay(args.ms)
        "done"
    }
    tool("fail", "Always fails.") { _, _ -> error("it failed") }
    tool("chatty", "Says three things on the way.") { _, context ->
        for (word in listOf("one", "two", "three")) context.log(LogLevel.INFO, word)
        "logged"
    }
    resource("memo://greeting", "greeting", "text/plain") { _, _, _ -> "Hello from the fixture" }
    resource("memo://item/{id}", "item", "text/plain") { _, variables, _ -> "item ${variables["id"]}" }
    prompt("greet", "Asks for a greeting.", listOf(PromptArgument("name"))) { args, _ -> "Please greet ${args["name"]}." }
    completion { asked, _ ->
        val names = if (asked.prompt == "greet" && asked.argument == "name") listOf("ada", "alan", "grace") else emptyList()
        names.filter { it.startsWith(asked.value) }
    }
}

public fun main(words: Array<String>): Unit = runBlocking {
    val server = fixture()
    if (words.firstOrNull() == "--http") {
        val running = server.serveHttp(words[1].toInt())
        println("listening ${running.port}")
        running.join()
    } else {
        server.serveStdio()
    }
}
