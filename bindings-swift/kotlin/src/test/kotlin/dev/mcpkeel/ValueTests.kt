package dev.mcpkeel

import java.math.BigDecimal
import java.math.BigInteger

private enum class Colour { RED }

private class Inner : Fields() {
    val deep by boolean()
}

private class All : Fields() {
    val text by string("A text")
    val whole by int(default = 7)
    val big by integer()
    val real by number().orNull()
    val names by strings()
    val inner by fields(::Inner)
    val inners by list(::Inner)
    val any by value()
}

internal fun Suite.values() {
    test("numbers keep their digits") {
        val text = "[9007199254740993,123456789012345678901234567890.10,1E+2,-0,1e400]"
        val read = JsonValue.parse(text).asArray()
        same(read.toString(), text)
        same(read[0].asLong(), 9007199254740993L)
        same(read[1].asBigDecimal(), BigDecimal("123456789012345678901234567890.10"))
        same(read[2].asInt(), 100)
        throws(InvalidError::class) { read[1].asLong() }
        throws(InvalidError::class) { read[1].asBigInteger() }
        throws(InvalidError::class) { read[4].asLong() }
        same(read[4].asBigInteger(), BigInteger.TEN.pow(400))
    }
    test("a short text that stands for a huge number is refused") {
        for (text in listOf("1e999999999", "1e99999999999", "1e-999999999", "9".repeat(20_000))) {
            val read = JsonValue.parse(text)
            throws(InvalidError::class) { read.asBigInteger() }
            throws(InvalidError::class) { read.asLong() }
        }
    }
    test("strings come back as they were") {
        val text = "grüß 🦀 \u0000\n\"\\\u2028 \ud800"
        same(JsonValue.parse(json(text).toString()).asString(), text)
        same(JsonValue.parse("\"\\u00fc\\ud83e\\udd80\\/\\b\\f\"").asString(), "ü🦀/\b\u000c")
        holds(json("\ud800").toString() == "\"\\ud800\"")
    }
    test("what is no JSON is refused") {
        val wrong = listOf(
            "", " ", "{", "[1,]", "{\"a\":1,}", "{a:1}", "01", "1.", ".5", "+1", "1e", "tru", "nul", "\"\n\"", "\"\\x\"",
            "\"\\u12g4\"", "\"", "[1 2]", "1 2", "NaN", "Infinity", "'a'", "\u00a01", "--1", "\"\\u12\"", "\"\\",
        )
        for (text in wrong) throws(InvalidError::class) { JsonValue.parse(text) }
    }
    test("nesting has a bound, reading and writing") {
        same(JsonValue.parse("[".repeat(1000) + "]".repeat(1000)).toString().length, 2000)
        throws(InvalidError::class) { JsonValue.parse("[".repeat(100_000)) }
        val itself = ArrayList<Any>()
        itself.add(itself)
        throws(InvalidError::class) { json(itself) }
    }
    test("the last of equal names counts") {
        same(JsonValue.parse("{\"a\":1,\"b\":2,\"a\":3}"), jsonObject("a" to 3, "b" to 2))
    }
    test("values have JSON") {
        val value = mapOf("a" to listOf(1, 2L, 2.5, 3.0, BigInteger.TEN, true, null, Colour.RED), "b" to arrayOf("x"))
        same(json(value).toString(), "{\"a\":[1,2,2.5,3,10,true,null,\"RED\"],\"b\":[\"x\"]}")
        throws(InvalidError::class) { json(Any()) }
        throws(InvalidError::class) { json(Double.NaN) }
        same(jsonObject("a" to null, "b" to JsonNull).toString(), "{\"b\":null}")
    }
    test("fields make a schema and read what fits it") {
        val schema = All().schema
        same(schema.array("required"), jsonArray("text", "big", "names", "inner", "inners", "any"))
        same(schema.obj("properties")?.obj("text"), jsonObject("type" to "string", "description" to "A text"))
        same(schema.obj("properties")?.obj("whole"), jsonObject("type" to "integer", "default" to 7))
        val value = JsonValue.parse(
            """{"text":"t","big":1e30,"names":["a"],"inner":{"deep":true},"inners":[{"deep":false}],"any":null,"real":null}""",
        )
        val read = All().bind(value)
        same(read.text, "t")
        same(read.whole, 7)
        same(read.big, BigInteger.TEN.pow(30))
        same(read.real, null)
        same(read.names, listOf("a"))
        same(read.inner.deep, true)
        same(read.inners.single().deep, false)
        same(json(read), value)
    }
    test("fields say what does not fit") {
        same(throws(InvalidError::class) { Inner().bind(JsonObject.EMPTY) }.message, "deep: is missing")
        same(throws(InvalidError::class) { Inner().bind(jsonObject("deep" to 1)) }.message, "deep: 1 is no boolean")
        same(throws(InvalidError::class) { Inner().bind(jsonArray()) }.message, "[] is no object")
    }
}
