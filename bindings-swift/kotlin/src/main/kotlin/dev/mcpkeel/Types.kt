package dev.mcpkeel

import java.util.Base64

/** Which kind of server to expect. */
public enum class Mode {
    /** Finds out. */
    AUTO,

    /** Servers that shake hands. */
    LEGACY,

    /** Servers of which each request stands alone. */
    MODERN,
    ;

    internal val word: String get() = name.lowercase()
}

/** The levels of log messages, from the least. */
public enum class LogLevel {
    DEBUG, INFO, NOTICE, WARNING, ERROR, CRITICAL, ALERT, EMERGENCY;

    internal val word: String get() = name.lowercase()
}

/** What a message says: text, image, audio, an embedded resource or a link to one. */
public class Content(override val raw: JsonObject) : HasJson {
    /** Its kind by the word of the wire. */
    public val type: String get() = raw.string("type").orEmpty()

    /** The text of a text block, else null. */
    public val text: String? get() = if (type == "text") raw.string("text") else null

    override fun toString(): String = raw.toString()

    public companion object {
        /** A text. */
        public fun text(text: String): Content = Content(jsonObject("type" to "text", "text" to text))

        /** An image. */
        public fun image(bytes: ByteArray, mimeType: String): Content = data("image", bytes, mimeType)

        /** A sound. */
        public fun audio(bytes: ByteArray, mimeType: String): Content = data("audio", bytes, mimeType)

        /** A link to a resource. */
        public fun link(uri: String, name: String, mimeType: String? = null): Content =
            Content(jsonObject("type" to "resource_link", "uri" to uri, "name" to name, "mimeType" to mimeType))

        private fun data(type: String, bytes: ByteArray, mimeType: String) =
            Content(jsonObject("type" to type, "data" to base64(bytes), "mimeType" to mimeType))
    }
}

/** What a tool call gave. */
public class ToolResult(override val raw: JsonObject) : HasJson {
    /** The result's blocks. */
    public val content: List<Content> get() = raw.array("content").orEmpty().map { Content(it.asObject()) }

    /** The structured content, if there is any. */
    public val structured: JsonValue? get() = raw["structuredContent"]

    /** Whether the tool failed; [text] says how. */
    public val isError: Boolean get() = raw.boolean("isError") ?: false

    /** All text blocks, one after the other. */
    public val text: String get() = content.mapNotNull { it.text }.joinToString("\n")

    /** What was sent beside the result. */
    public val meta: JsonObject get() = raw.obj("_meta") ?: JsonObject.EMPTY

    override fun toString(): String = raw.toString()

    public companion object {
        /** A result of blocks, for handlers. */
        public fun of(vararg content: Content, structured: JsonValue? = null, isError: Boolean = false): ToolResult = ToolResult(
            jsonObject("content" to content.toList(), "structuredContent" to structured, "isError" to true.takeIf { isError }),
        )
    }
}

/** A tool that a server has. */
public class Tool(override val raw: JsonObject) : HasJson {
    public val name: String get() = raw.string("name").orEmpty()
    public val title: String? get() = raw.string("title")
    public val description: String? get() = raw.string("description")

    /** The JSON Schema of the arguments. */
    public val inputSchema: JsonObject get() = raw.obj("inputSchema") ?: JsonObject.EMPTY

    /** The JSON Schema of the structured content, if there is one. */
    public val outputSchema: JsonObject? get() = raw.obj("outputSchema")

    override fun toString(): String = raw.toString()
}

/** A resource that a server has. */
public class Resource(override val raw: JsonObject) : HasJson {
    public val uri: String get() = raw.string("uri").orEmpty()
    public val name: String get() = raw.string("name").orEmpty()
    public val description: String? get() = raw.string("description")
    public val mimeType: String? get() = raw.string("mimeType")

    override fun toString(): String = raw.toString()
}

/** Resources that differ by variables in their uri. */
public class ResourceTemplate(override val raw: JsonObject) : HasJson {
    public val uriTemplate: String get() = raw.string("uriTemplate").orEmpty()
    public val name: String get() = raw.string("name").orEmpty()
    public val description: String? get() = raw.string("description")
    public val mimeType: String? get() = raw.string("mimeType")

    override fun toString(): String = raw.toString()
}

/** What a resource holds, or a part of it. */
public class ResourceContents(override val raw: JsonObject) : HasJson {
    public val uri: String get() = raw.string("uri").orEmpty()
    public val mimeType: String? get() = raw.string("mimeType")

    /** Null when it is bytes. */
    public val text: String? get() = raw.string("text")

    /** Null when it is text. */
    public val bytes: ByteArray? get() = raw.string("blob")?.let { Base64.getMimeDecoder().decode(it) }

    override fun toString(): String = raw.toString()
}

/** A prompt that a server has. */
public class Prompt(override val raw: JsonObject) : HasJson {
    public val name: String get() = raw.string("name").orEmpty()
    public val description: String? get() = raw.string("description")
    public val arguments: List<PromptArgument>
        get() = raw.array("arguments").orEmpty().map {
            val found = it.asObject()
            PromptArgument(found.string("name").orEmpty(), found.string("description"), found.boolean("required") ?: false)
        }

    override fun toString(): String = raw.toString()
}

/** An argument of a prompt: always a text. */
public data class PromptArgument(val name: String, val description: String? = null, val required: Boolean = true) : HasJson {
    override val raw: JsonObject get() = jsonObject("name" to name, "description" to description, "required" to required)
}

/** One message of a prompt. */
public class PromptMessage(override val raw: JsonObject) : HasJson {
    public constructor(role: String, content: Content) : this(jsonObject("role" to role, "content" to content))

    /** `user` or `assistant`. */
    public val role: String get() = raw.string("role").orEmpty()
    public val content: Content get() = Content(raw.obj("content") ?: JsonObject.EMPTY)

    override fun toString(): String = raw.toString()
}

/** What a prompt gave. */
public class PromptResult(override val raw: JsonObject) : HasJson {
    public val description: String? get() = raw.string("description")
    public val messages: List<PromptMessage> get() = raw.array("messages").orEmpty().map { PromptMessage(it.asObject()) }

    override fun toString(): String = raw.toString()
}

/** Proposals for an argument. */
public data class Completion(val values: List<String>, val total: Long? = null, val hasMore: Boolean? = null) : HasJson {
    override val raw: JsonObject get() = jsonObject("values" to values, "total" to total, "hasMore" to hasMore)
}

/** What is to be completed: the argument of a prompt, or the variable of a resource template. */
public class CompletionRequest(override val raw: JsonObject) : HasJson {
    /** The prompt's name; null for a template. */
    public val prompt: String? get() = raw.obj("ref")?.takeIf { it.string("type") == "ref/prompt" }?.string("name")

    /** The template's uri; null for a prompt. */
    public val template: String? get() = raw.obj("ref")?.takeIf { it.string("type") == "ref/resource" }?.string("uri")
    public val argument: String get() = raw.obj("argument")?.string("name").orEmpty()

    /** What was typed so far. */
    public val value: String get() = raw.obj("argument")?.string("value").orEmpty()

    /** Arguments that are known already. */
    public val known: Map<String, String>
        get() = raw.obj("context")?.obj("arguments").orEmpty().mapValues { it.value.asString() }
}

/** How far a call is. */
public class Progress(override val raw: JsonObject) : HasJson {
    public val progress: Double get() = raw["progress"]?.asDouble() ?: 0.0
    public val total: Double? get() = raw["total"]?.asDouble()
    public val message: String? get() = raw.string("message")

    override fun toString(): String = raw.toString()
}

/** A notification by its wire name. */
public class Notice(public val method: String, public val params: JsonObject) {
    override fun toString(): String = "$method $params"
}

/** A folder that a client works in. */
public data class Root(val uri: String, val name: String? = null) : HasJson {
    override val raw: JsonObject get() = jsonObject("uri" to uri, "name" to name)
}

/** What a user made of a form. */
public class ElicitResult(override val raw: JsonObject) : HasJson {
    /** `accept`, `decline` or `cancel`. */
    public val action: String get() = raw.string("action").orEmpty()

    /** The filled in form; null unless accepted. */
    public val content: JsonObject? get() = if (action == "accept") raw.obj("content") ?: JsonObject.EMPTY else null

    override fun toString(): String = raw.toString()

    public companion object {
        /** The form, filled in. */
        public fun accept(vararg content: Pair<String, Any?>): ElicitResult =
            ElicitResult(jsonObject("action" to "accept", "content" to jsonObject(*content)))

        /** The user does not want to. */
        public fun decline(): ElicitResult = ElicitResult(jsonObject("action" to "decline"))

        /** The user went away without a choice. */
        public fun cancel(): ElicitResult = ElicitResult(jsonObject("action" to "cancel"))
    }
}

/** What a model said. */
public class SampleResult(override val raw: JsonObject) : HasJson {
    public constructor(text: String, model: String) :
        this(jsonObject("role" to "assistant", "content" to Content.text(text), "model" to model))

    public val model: String get() = raw.string("model").orEmpty()

    /** All its text. */
    public val text: String
        get() = when (val content = raw["content"]) {
            is JsonArray -> content.mapNotNull { Content(it.asObject()).text }.joinToString("\n")
            is JsonObject -> Content(content).text.orEmpty()
            else -> ""
        }

    override fun toString(): String = raw.toString()
}

internal fun base64(bytes: ByteArray): String = Base64.getEncoder().encodeToString(bytes)
