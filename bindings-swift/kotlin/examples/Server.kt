import dev.mcpkeel.Fields
import dev.mcpkeel.Server

class Asked : Fields() {
    val city by string("Which city")
    val days by int("How many days", default = 3)
}

suspend fun main() {
    val server = Server("weather", "1.0") {
        tool("forecast", "The weather to come", ::Asked) { asked, context ->
            context.progress(1, total = 1, message = "asked for ${asked.city}")
            "${asked.city}: sun for ${asked.days} days"
        }
    }
    server.serveStdio()
}
