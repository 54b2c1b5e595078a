import dev.mcpkeel.Client
import dev.mcpkeel.use

suspend fun main(command: Array<String>) {
    Client.connect(command.toList()).use { client ->
        client.listTools().collect { println("${it.name}: ${it.description}") }
        val result = client.callTool("forecast", mapOf("city" to "Oslo")) { println(it.message) }
        println(result.text)
    }
}
