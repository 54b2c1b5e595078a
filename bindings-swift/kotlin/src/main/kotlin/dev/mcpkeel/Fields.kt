package dev.mcpkeel

import java.math.BigInteger
import kotlin.properties.ReadOnlyProperty
import kotlin.reflect.KProperty

/** How a type is written as JSON and read from it. The kotlinx.serialization adapter makes them of serializers. */
public interface Shape<T> {
    /** The JSON Schema of the type. */
    public val schema: JsonObject

    /** InvalidError when the value is not of this shape. */
    public fun read(value: JsonValue): T

    /** The JSON of a value of the type. */
    public fun write(value: T): JsonValue
}

/**
 * An object whose members are declared once, as properties; the JSON Schema follows from them:
 *
 * ```
 * class Asked : Fields() {
 *     val city by string("Which city")
 *     val days by int("How many days", default = 3)
 * }
 * server.tool("forecast", "The weather to come", ::Asked) { asked, _ -> "${asked.city}: sun for ${asked.days} days" }
 * ```
 *
 * Without reflection, so that shrinkers need no rules. A member with a default is optional; `orNull` makes one that may be
 * absent or null.
 */
public abstract class Fields : HasJson {
    private class Member(val name: String, val schema: JsonObject, val required: Boolean, val check: (JsonValue?) -> Unit)

    private val members = ArrayList<Member>()
    private var bound = JsonObject.EMPTY

    /** The object as it came. */
    override val raw: JsonObject get() = bound

    /** The JSON Schema of this object. */
    public val schema: JsonObject
        get() = jsonObject(
            "type" to "object",
            "properties" to JsonObject(members.associate { it.name to it.schema }),
            "required" to members.filter { it.required }.map { it.name }.ifEmpty { null },
        )

    /** Declares a member by its schema and how it is read. */
    public inner class Field<T> internal constructor(
        private val kind: JsonObject,
        private val required: Boolean,
        private val absent: T?,
        private val read: (JsonValue) -> T,
    ) {
        /** The same member, which may be absent or null. */
        public fun orNull(): Field<T?> = Field(kind, false, null, read)

        public operator fun provideDelegate(fields: Fields, property: KProperty<*>): ReadOnlyProperty<Fields, T> {
            val name = property.name
            members.add(Member(name, kind, required) { value(it) })
            return ReadOnlyProperty { _, _ -> value(bound[name]) }
        }

        @Suppress("UNCHECKED_CAST") // Null is the value of a member that is not required and has no default, whose T is nullable.
        private fun value(found: JsonValue?): T = when {
            found != null && (found !== JsonNull || required) -> read(found)
            required -> throw InvalidError("is missing")
            else -> absent as T
        }
    }

    /** A text; [more] are further keywords of its schema. */
    protected fun string(description: String? = null, default: String? = null, more: JsonObject = JsonObject.EMPTY): Field<String> =
        field("string", description, default, more) { it.asString() }

    /** An integer of 32 bits. */
    protected fun int(description: String? = null, default: Int? = null, more: JsonObject = JsonObject.EMPTY): Field<Int> =
        field("integer", description, default, more) { it.asInt() }

    /** An integer of 64 bits. */
    protected fun long(description: String? = null, default: Long? = null, more: JsonObject = JsonObject.EMPTY): Field<Long> =
        field("integer", description, default, more) { it.asLong() }

    /** An integer of any size. */
    protected fun integer(description: String? = null, default: BigInteger? = null, more: JsonObject = JsonObject.EMPTY): Field<BigInteger> =
        field("integer", description, default, more) { it.asBigInteger() }

    /** A number, as the nearest double. */
    protected fun number(description: String? = null, default: Double? = null, more: JsonObject = JsonObject.EMPTY): Field<Double> =
        field("number", description, default, more) { it.asDouble() }

    /** true or false. */
    protected fun boolean(description: String? = null, default: Boolean? = null, more: JsonObject = JsonObject.EMPTY): Field<Boolean> =
        field("boolean", description, default, more) { it.asBoolean() }

    /** A list of texts. */
    protected fun strings(description: String? = null, default: List<String>? = null): Field<List<String>> {
        val items = jsonObject("items" to jsonObject("type" to "string"))
        return field("array", description, default, items) { list -> list.asArray().map { it.asString() } }
    }

    /** An object with declared members of its own. */
    protected fun <F : Fields> fields(make: () -> F, description: String? = null): Field<F> =
        Field(make().schema + jsonObject("description" to description), true, null) { make().bind(it) }

    /** A list of such objects. */
    protected fun <F : Fields> list(make: () -> F, description: String? = null): Field<List<F>> =
        field("array", description, null, jsonObject("items" to make().schema)) { list -> list.asArray().map { make().bind(it) } }

    /** Anything, under a schema of your own. */
    protected fun value(schema: JsonObject = JsonObject.EMPTY): Field<JsonValue> = Field(schema, true, null) { it }

    private fun <T> field(type: String, description: String?, default: T?, more: JsonObject, read: (JsonValue) -> T): Field<T> {
        val kind = jsonObject("type" to type, "description" to description, "default" to default) + more
        return Field(kind, default == null, default, read)
    }

    internal fun check(value: JsonObject) {
        for (member in members) {
            try {
                member.check(value[member.name])
            } catch (error: InvalidError) {
                throw InvalidError("${member.name}: ${words(error)}", cause = error)
            }
        }
        bound = value
    }
}

/** Takes a value's members. InvalidError names the one that does not fit. */
internal fun <F : Fields> F.bind(value: JsonValue): F = apply { check(value.asObject()) }

/** The shape of an object with declared members. */
public class FieldsShape<F : Fields>(private val make: () -> F) : Shape<F> {
    override val schema: JsonObject = make().schema

    override fun read(value: JsonValue): F = make().bind(value)

    override fun write(value: F): JsonValue = value.raw
}
