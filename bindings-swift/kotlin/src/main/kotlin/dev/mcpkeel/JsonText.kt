package dev.mcpkeel

/** Reads one JSON text; the grammar of RFC 8259 and nothing else. */
internal class JsonReader(private val text: String) {
    private var at = 0

    fun document(): JsonValue {
        space()
        val value = value(0)
        space()
        if (at < text.length) fail()
        return value
    }

    private fun value(depth: Int): JsonValue {
        if (depth > MAX_NESTING) throw InvalidError("the JSON is nested too deeply", "json_nesting")
        return when (peek()) {
            '{' -> members(depth)
            '[' -> items(depth)
            '"' -> JsonString(string())
            't' -> word("true", TRUE)
            'f' -> word("false", FALSE)
            'n' -> word("null", JsonNull)
            else -> number()
        }
    }

    private fun members(depth: Int): JsonObject {
        at++
        space()
        if (peek() == '}') return JsonObject.EMPTY.also { at++ }
        val members = LinkedHashMap<String, JsonValue>()
        while (true) {
            if (peek() != '"') fail()
            val name = string()
            space()
            if (peek() != ':') fail()
            at++
            space()
            members[name] = value(depth + 1)
            if (closes('}')) return JsonObject(members)
        }
    }

    private fun items(depth: Int): JsonArray {
        at++
        space()
        if (peek() == ']') return JsonArray(emptyList()).also { at++ }
        val items = ArrayList<JsonValue>()
        while (true) {
            items.add(value(depth + 1))
            if (closes(']')) return JsonArray(items)
        }
    }

    /** After a member or an item: whether it was the last. */
    private fun closes(end: Char): Boolean {
        space()
        val found = peek()
        if (found != end && found != ',') fail()
        at++
        if (found == end) return true
        space()
        return false
    }

    private fun string(): String {
        val start = ++at
        while (at < text.length) {
            val char = text[at]
            if (char == '"') return text.substring(start, at++)
            if (char == '\\') return escaped(start)
            if (char < ' ') fail()
            at++
        }
        fail()
    }

    private fun escaped(start: Int): String {
        val out = StringBuilder().append(text, start, at)
        while (at < text.length) {
            val char = text[at++]
            when {
                char == '"' -> return out.toString()
                char == '\\' -> out.append(escape())
                char < ' ' -> fail()
                else -> out.append(char)
            }
        }
        fail()
    }

    private fun escape(): Char = when (val char = if (at < text.length) text[at++] else fail()) {
        '"', '\\', '/' -> char
        'b' -> '\b'
        'f' -> '\u000C'
        'n' -> '\n'
        'r' -> '\r'
        't' -> '\t'
        'u' -> {
            var code = 0
            repeat(4) {
                val digit = if (at < text.length) Character.digit(text[at], 16) else -1
                if (digit < 0 || text[at] > 'f') fail()
                code = code * 16 + digit
                at++
            }
            code.toChar()
        }
        else -> fail()
    }

    private fun number(): JsonNumber {
        val start = at
        if (peek() == '-') at++
        if (peek() == '0') at++ else digits()
        if (peek() == '.') {
            at++
            digits()
        }
        if (peek() == 'e' || peek() == 'E') {
            at++
            if (peek() == '+' || peek() == '-') at++
            digits()
        }
        return JsonNumber(text.substring(start, at))
    }

    private fun digits() {
        if (peek() !in '0'..'9') fail()
        while (peek() in '0'..'9') at++
    }

    private fun word(word: String, value: JsonValue): JsonValue {
        if (!text.startsWith(word, at)) fail()
        at += word.length
        return value
    }

    private fun space() {
        while (at < text.length && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) at++
    }

    /** The next character; U+0000, which no JSON has outside of strings, at the end. */
    private fun peek(): Char = if (at < text.length) text[at] else '\u0000'

    private fun fail(): Nothing = throw InvalidError("no JSON at character $at", "json_syntax")

    private companion object {
        val TRUE = JsonBoolean(true)
        val FALSE = JsonBoolean(false)
    }
}

internal fun write(value: JsonValue): String = StringBuilder().also { append(it, value, 0) }.toString()

private fun append(out: StringBuilder, value: JsonValue, depth: Int) {
    if (depth > MAX_NESTING) throw InvalidError("the value is nested too deeply")
    when (value) {
        is JsonObject -> {
            var first = true
            out.append('{')
            for ((name, member) in value) {
                if (!first) out.append(',')
                first = false
                quote(out, name)
                out.append(':')
                append(out, member, depth + 1)
            }
            out.append('}')
        }
        is JsonArray -> {
            var first = true
            out.append('[')
            for (item in value) {
                if (!first) out.append(',')
                first = false
                append(out, item, depth + 1)
            }
            out.append(']')
        }
        is JsonString -> quote(out, value.value)
        is JsonNumber -> out.append(value.text)
        is JsonBoolean -> out.append(value.value)
        JsonNull -> out.append("null")
    }
}

/** A string as JSON. Halves of surrogate pairs are escaped: they have no UTF-8. */
internal fun quote(out: StringBuilder, text: String) {
    out.append('"')
    var done = 0
    for (at in text.indices) {
        val char = text[at]
        if (char >= ' ' && char != '"' && char != '\\' && !lone(text, at)) continue
        out.append(text, done, at)
        done = at + 1
        when (char) {
            '"' -> out.append("\\\"")
            '\\' -> out.append("\\\\")
            '\n' -> out.append("\\n")
            '\r' -> out.append("\\r")
            '\t' -> out.append("\\t")
            else -> out.append("\\u").append(char.code.toString(16).padStart(4, '0'))
        }
    }
    out.append(text, done, text.length).append('"')
}

private fun lone(text: String, at: Int): Boolean {
    val char = text[at]
    if (!char.isSurrogate()) return false
    return if (char.isHighSurrogate()) at + 1 >= text.length || !text[at + 1].isLowSurrogate()
    else at == 0 || !text[at - 1].isHighSurrogate()
}
