package dev.mcpkeel

import java.math.BigDecimal
import java.math.BigInteger

/**
 * A JSON value. Numbers keep the digits that they came with: nothing is rounded before somebody asks for a type.
 * [toString] is the JSON text.
 */
public sealed interface JsonValue {
    /** The text of a string. InvalidError when it is none. */
    public fun asString(): String = (this as? JsonString)?.value ?: no("string")

    /** InvalidError when it is no boolean. */
    public fun asBoolean(): Boolean = (this as? JsonBoolean)?.value ?: no("boolean")

    /** InvalidError when it is no number that an Int holds exactly. */
    public fun asInt(): Int = asLong().let { if (it.toInt().toLong() == it) it.toInt() else no("integer of 32 bits") }

    /** InvalidError when it is no number that a Long holds exactly. */
    public fun asLong(): Long = (this as? JsonNumber)?.long() ?: no("integer of 64 bits")

    /** InvalidError when it is no whole number, or has more than 10 000 digits. */
    public fun asBigInteger(): BigInteger = (this as? JsonNumber)?.bigInteger() ?: no("integer")

    /** The number as it is. InvalidError when it is none, or has more than 10 000 digits. */
    public fun asBigDecimal(): BigDecimal = (this as? JsonNumber)?.bigDecimal() ?: no("number")

    /** The nearest double: this one may round. InvalidError when it is no number. */
    public fun asDouble(): Double = (this as? JsonNumber)?.text?.toDouble() ?: no("number")

    /** InvalidError when it is no object. */
    public fun asObject(): JsonObject = this as? JsonObject ?: no("object")

    /** InvalidError when it is no array. */
    public fun asArray(): JsonArray = this as? JsonArray ?: no("array")

    private fun no(kind: String): Nothing = throw InvalidError("${excerpt(toString())} is no $kind")

    public companion object {
        /** Reads JSON text. InvalidError when it is none, or nested more than 1024 deep. The last of equal names counts. */
        public fun parse(text: String): JsonValue = JsonReader(text).document()
    }
}

/** An object; its members keep their order. */
public class JsonObject(private val members: Map<String, JsonValue>) : JsonValue, Map<String, JsonValue> by members {
    /** The text of a member; null when it is absent or null. InvalidError when it is something else. */
    public fun string(name: String): String? = member(name)?.asString()

    /** A boolean member; null when it is absent or null. InvalidError when it is something else. */
    public fun boolean(name: String): Boolean? = member(name)?.asBoolean()

    /** An integer member; null when it is absent or null. InvalidError when it is something else. */
    public fun long(name: String): Long? = member(name)?.asLong()

    /** An object member; null when it is absent or null. InvalidError when it is something else. */
    public fun obj(name: String): JsonObject? = member(name)?.asObject()

    /** An array member; null when it is absent or null. InvalidError when it is something else. */
    public fun array(name: String): JsonArray? = member(name)?.asArray()

    /** This object with other members too; those win. */
    public operator fun plus(more: Map<String, JsonValue>): JsonObject = JsonObject(members + more)

    private fun member(name: String): JsonValue? = members[name].takeIf { it !== JsonNull }

    override fun equals(other: Any?): Boolean = other is JsonObject && members == other.members

    override fun hashCode(): Int = members.hashCode()

    override fun toString(): String = write(this)

    public companion object {
        /** The object without members. */
        public val EMPTY: JsonObject = JsonObject(emptyMap())
    }
}

/** An array. */
public class JsonArray(private val items: List<JsonValue>) : JsonValue, List<JsonValue> by items {
    override fun equals(other: Any?): Boolean = other is JsonArray && items == other.items

    override fun hashCode(): Int = items.hashCode()

    override fun toString(): String = write(this)
}

/** A string. */
public data class JsonString(val value: String) : JsonValue {
    override fun toString(): String = write(this)
}

/** A number, by its text. Two are equal when their texts are. */
public class JsonNumber internal constructor(public val text: String) : JsonValue {
    public constructor(value: Long) : this(value.toString())

    public constructor(value: BigInteger) : this(value.toString())

    public constructor(value: BigDecimal) : this(value.toString())

    /** InvalidError for what JSON has no number for. */
    public constructor(value: Double) : this(finite(value))

    override fun equals(other: Any?): Boolean = other is JsonNumber && text == other.text

    override fun hashCode(): Int = text.hashCode()

    override fun toString(): String = text

    internal fun long(): Long? = text.toLongOrNull() ?: decimal(MAX_LONG_DIGITS)?.let {
        runCatching { it.longValueExact() }.getOrNull()
    }

    internal fun bigInteger(): BigInteger? = decimal(MAX_DIGITS)?.let { runCatching { it.toBigIntegerExact() }.getOrNull() }

    internal fun bigDecimal(): BigDecimal? = decimal(MAX_DIGITS)

    /** Null when it has more digits: a short text may stand for a number that fills the memory. */
    private fun decimal(digits: Int): BigDecimal? {
        if (text.length > MAX_DIGITS) return null
        val found = text.toBigDecimalOrNull() ?: return null
        val whole = found.precision().toLong() - found.scale()
        return found.takeIf { whole <= digits && found.scale() <= MAX_DIGITS }
    }

    private companion object {
        const val MAX_LONG_DIGITS = 19
        const val MAX_DIGITS = 10_000

        fun finite(value: Double): String {
            if (!value.isFinite()) throw InvalidError("$value has no JSON")
            val whole = value.toLong()
            // Whole numbers as such: some peers read 3.0 as no integer.
            return if (whole.toDouble() == value && whole in -EXACT..EXACT) whole.toString() else value.toString()
        }

        const val EXACT = 1L shl 53
    }
}

/** true or false. */
public data class JsonBoolean(val value: Boolean) : JsonValue {
    override fun toString(): String = value.toString()
}

/** null. */
public data object JsonNull : JsonValue {
    override fun toString(): String = "null"
}

/** What stands for a JSON value: results and descriptions of this package, and what [Shape]s make. */
public interface HasJson {
    /** The JSON as it is on the wire. */
    public val raw: JsonValue
}

/**
 * The JSON of a value: of null, JSON values, strings, numbers, booleans, enums (by name), maps, iterables, arrays and what
 * [HasJson]. InvalidError for others, for numbers without JSON and for what is nested too deeply or holds itself.
 */
public fun json(value: Any?): JsonValue = toJson(value, 0)

/** An object of these members; those with the value null are left out. Values as of [json]. */
public fun jsonObject(vararg members: Pair<String, Any?>): JsonObject =
    JsonObject(members.filter { it.second != null }.associate { (name, value) -> name to json(value) })

/** An array of these values, as of [json]. */
public fun jsonArray(vararg items: Any?): JsonArray = JsonArray(items.map(::json))

private fun toJson(value: Any?, depth: Int): JsonValue {
    if (depth > MAX_NESTING) throw InvalidError("the value is nested too deeply, or holds itself")
    return when (value) {
        null -> JsonNull
        is JsonValue -> value
        is HasJson -> value.raw
        is CharSequence -> JsonString(value.toString())
        is Boolean -> JsonBoolean(value)
        is Float -> JsonNumber(value.toString().toDouble())
        is Double -> JsonNumber(value)
        is Int, is Long, is Short, is Byte, is BigInteger, is BigDecimal,
        is UInt, is ULong, is UShort, is UByte,
        -> JsonNumber(value.toString())
        is Enum<*> -> JsonString(value.name)
        is Map<*, *> -> JsonObject(value.entries.associate { (name, item) -> name.toString() to toJson(item, depth + 1) })
        is Iterable<*> -> JsonArray(value.map { toJson(it, depth + 1) })
        is Array<*> -> JsonArray(value.map { toJson(it, depth + 1) })
        else -> throw InvalidError("a ${value.javaClass.simpleName} has no JSON; give a map, a Shape or a JsonValue")
    }
}

internal const val MAX_NESTING = 1024

internal fun excerpt(text: String): String = if (text.length > 60) "${text.take(57)}..." else text
