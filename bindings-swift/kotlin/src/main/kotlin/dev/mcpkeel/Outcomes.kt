package dev.mcpkeel

/** What handlers return, as the outcomes that the core takes. */
internal object Outcomes {
    private val BLOCKS = setOf("text", "image", "audio", "resource", "resource_link")

    /** The result for a value of a tool. With an output schema every value is structured content, unless it is a whole result. */
    fun tool(value: Any?, declared: Boolean): String = result(
        when (value) {
            is ToolResult -> value.raw
            is Content -> jsonObject("content" to jsonArray(value))
            null, Unit -> if (declared) structured(JsonNull) else jsonObject("content" to jsonArray())
            is CharSequence -> if (declared) structured(json(value)) else text(value.toString())
            else -> ofJson(json(value), declared)
        },
    )

    private fun ofJson(value: JsonValue, declared: Boolean): JsonObject = when {
        value is JsonObject && isWhole(value) -> whole(value)
        declared -> structured(value)
        value is JsonObject && isBlock(value) -> jsonObject("content" to jsonArray(value))
        value is JsonArray && value.all(::isBlock) -> jsonObject("content" to value)
        value is JsonObject -> structured(value)
        value is JsonString -> text(value.value)
        else -> text(value.toString())
    }

    private fun isBlock(value: JsonValue): Boolean =
        value is JsonObject && value["type"].let { it is JsonString && it.value in BLOCKS }

    private fun isWhole(value: JsonObject): Boolean {
        val content = value["content"]
        val fits = if (content == null) "structuredContent" in value else content is JsonArray && content.all(::isBlock)
        return fits && value["isError"].let { it == null || it is JsonBoolean }
    }

    private fun whole(value: JsonObject): JsonObject =
        if ("content" in value) value else value + text(value["structuredContent"].toString())

    private fun text(text: String) = jsonObject("content" to jsonArray(Content.text(text)))

    /** Structured content, and the same as text for clients that read only that. */
    private fun structured(value: JsonValue) = text(value.toString()) + mapOf("structuredContent" to value)

    /** A failed tool is a result that the model can read; only a PeerError is a protocol error. */
    fun toolFailure(error: Throwable): String {
        if (error is PeerError) return failure(error)
        return result(jsonObject("content" to jsonArray(Content.text(words(error))), "isError" to true))
    }

    fun failure(error: Throwable): String = failure(error, if (error is InvalidError) -32602 else -32603)

    /** The outcome for what a handler threw: a PeerError as it is, else `code`. */
    fun failure(error: Throwable, code: Long): String {
        val rpc = if (error is PeerError) jsonObject("code" to error.rpcCode, "message" to words(error), "data" to error.data)
        else jsonObject("code" to code, "message" to words(error))
        return jsonObject("error" to rpc).toString()
    }

    fun resource(value: Any?, uri: String, mimeType: String?): String {
        fun contents(part: Any?): JsonObject {
            val about = jsonObject("uri" to uri, "mimeType" to mimeType)
            if (part is ByteArray) return about + jsonObject("blob" to base64(part))
            val made = json(part)
            return about + if (made is JsonString) jsonObject("text" to made) else made.asObject()
        }
        if (value is Map<*, *> && "contents" in value) return result(json(value))
        val parts = if (value is Iterable<*>) value.map(::contents) else listOf(contents(value))
        return result(jsonObject("contents" to parts))
    }

    fun prompt(value: Any?): String = result(
        when (val made = json(value)) {
            is JsonString -> jsonObject("messages" to jsonArray(PromptMessage("user", Content.text(made.value))))
            is JsonArray -> jsonObject("messages" to made)
            is JsonObject -> if ("messages" in made) made else jsonObject("messages" to jsonArray(made))
            else -> throw InvalidError("a prompt gives a text or messages")
        },
    )

    fun completion(value: Completion): String = result(jsonObject("completion" to value))

    fun result(value: JsonValue): String = "{\"result\":$value}"
}
