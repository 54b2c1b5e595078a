/** The tests of the adapter; the last line counts. */
@file:JvmName("Tests")

package dev.mcpkeel.serialization

import dev.mcpkeel.Client
import dev.mcpkeel.ElicitResult
import dev.mcpkeel.InvalidError
import dev.mcpkeel.JsonValue
import dev.mcpkeel.Server
import dev.mcpkeel.use
import kotlin.system.exitProcess
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable

@Serializable
internal data class Asked(
    @Description("Which city") val city: String,
    val days: Int = 3,
    val near: Asked? = null,
    val unit: Unit = Unit.KELVIN,
)

@Serializable
internal enum class Unit { KELVIN, CELSIUS }

@Serializable
internal data class Forecast(val days: List<Day>, val total: Long)

@Serializable
internal data class Day(val name: String, val sky: Sky)

@Serializable
internal sealed interface Sky {
    @Serializable
    data class Clear(val stars: Int) : Sky

    @Serializable
    data object Grey : Sky
}

@Serializable
internal data class Name(val name: String)

private fun same(found: Any?, wanted: Any?) {
    if (found != wanted) error("got $found, wanted $wanted")
}

private val tests: Map<String, suspend () -> kotlin.Unit> = mapOf(
    "schemas follow from descriptors" to {
        val name = Asked.serializer().descriptor.serialName
        val wanted = """{"type":"object","properties":{"city":{"type":"string","description":"Which city"},
            "days":{"type":"integer"},"near":{"anyOf":[{"${'$'}ref":"#/${'$'}defs/$name"},{"type":"null"}]},
            "unit":{"enum":["KELVIN","CELSIUS"]}},"required":["city"]}"""
        val schema = shape<Asked>().schema
        same(schema.obj("\$defs")?.get(name), JsonValue.parse(wanted))
        same(schema.array("required").toString(), "[\"city\"]")
        same(shape<Name>().schema.toString(), """{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}""")
    },
    "values go through tools, both ways" to {
        val server = Server("s", "1") {
            structuredTool<Asked, Forecast>("forecast") { asked, _ ->
                Forecast(listOf(Day(asked.city, Sky.Clear(7)), Day("x", Sky.Grey)), 9007199254740993)
            }
            tool<Asked>("city") { asked, context -> "${asked.city} ${context.elicit<Name>("Who?")?.name}" }
        }
        Client.connect(server) { onElicit { ElicitResult.accept("name" to "Ada") } }.use { client ->
            val found = client.callTyped("forecast", Asked("Oslo", near = Asked("Bergen"))).structuredAs<Forecast>()
            same(found, Forecast(listOf(Day("Oslo", Sky.Clear(7)), Day("x", Sky.Grey)), 9007199254740993))
            same(client.callTyped("city", Asked("Oslo")).text, "Oslo Ada")
        }
        server.close()
    },
    "what does not fit is an InvalidError" to {
        for (text in listOf("{}", "{\"city\":7.5e3x}", "[]", "{\"city\":\"a\",\"days\":\"b\"}", "{\"city\":\"a\",\"days\":9999999999}")) {
            val thrown = runCatching { shape<Asked>().read(JsonValue.parse(text)) }.exceptionOrNull()
            same(thrown is InvalidError, true)
        }
    },
)

public fun main() {
    var failed = 0
    for ((name, body) in tests) {
        val thrown = runCatching { runBlocking { body() } }.exceptionOrNull()
        println(if (thrown == null) "ok      $name" else "FAILED  $name: $thrown")
        thrown?.printStackTrace()
        if (thrown != null) failed++
    }
    println("${tests.size - failed} passed, $failed failed")
    exitProcess(if (failed == 0) 0 else 1)
}
