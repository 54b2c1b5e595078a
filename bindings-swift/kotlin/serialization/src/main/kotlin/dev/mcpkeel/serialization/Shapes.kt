package dev.mcpkeel.serialization

import dev.mcpkeel.Client
import dev.mcpkeel.Context
import dev.mcpkeel.InvalidError
import dev.mcpkeel.JsonObject
import dev.mcpkeel.JsonValue
import dev.mcpkeel.RequestOptions
import dev.mcpkeel.Server
import dev.mcpkeel.Shape
import dev.mcpkeel.ToolResult
import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.Json
import kotlinx.serialization.serializer

/** How values are written and read unless told otherwise: members with defaults are written, unknown ones are left out. */
public val KeelJson: Json = Json {
    ignoreUnknownKeys = true
    encodeDefaults = true
}

/** The shape of a serializable type. UsageError for types without JSON Schema, such as open polymorphic ones. */
public fun <T> shape(serializer: KSerializer<T>, json: Json = KeelJson): Shape<T> = object : Shape<T> {
    override val schema: JsonObject = schemaOf(serializer.descriptor)

    override fun read(value: JsonValue): T = try {
        json.decodeFromString(serializer, value.toString())
    } catch (error: SerializationException) {
        throw InvalidError(plain(error), cause = error)
    } catch (error: IllegalArgumentException) {
        throw InvalidError(plain(error), cause = error) // What a constructor of the type refuses.
    }

    override fun write(value: T): JsonValue = JsonValue.parse(json.encodeToString(serializer, value))
}

/** The same for a type that is known here. */
public inline fun <reified T> shape(json: Json = KeelJson): Shape<T> = shape(json.serializersModule.serializer<T>(), json)

/** A tool whose arguments are a serializable class. The handler gives what handlers of tools give. */
public inline fun <reified A> Server.tool(
    name: String,
    description: String? = null,
    noinline handler: suspend (args: A, context: Context) -> Any?,
) {
    tool(name, description, shape<A>(), handler = handler)
}

/** A tool whose arguments and structured result are serializable classes. */
public inline fun <reified A, reified R> Server.structuredTool(
    name: String,
    description: String? = null,
    noinline handler: suspend (args: A, context: Context) -> R,
) {
    val (input, output) = shape<A>() to shape<R>()
    tool(name, description, input, output.schema) { args, context -> output.write(handler(args, context)) }
}

/** Asks the user to fill in a form: what came of it, or null when the user declined or went away. */
public suspend inline fun <reified F> Context.elicit(message: String): F? {
    val form = shape<F>()
    return elicit(message, form.schema).content?.let(form::read)
}

/** Calls a tool with a serializable value as its arguments. */
public suspend inline fun <reified A> Client.callTyped(
    name: String,
    args: A,
    options: RequestOptions = RequestOptions(),
): ToolResult = callTool(name, shape<A>().write(args), options)

/** The structured content as a value. InvalidError when there is none, or it does not fit. */
public inline fun <reified R> ToolResult.structuredAs(): R =
    shape<R>().read(structured ?: throw InvalidError("the result has no structured content"))

/** Without the input that the library adds to its messages. */
private fun plain(error: IllegalArgumentException): String =
    error.message.orEmpty().substringBefore("\nJSON input").ifEmpty { "the value does not fit" }
