/** The Kotlin host of the shared corpus: drives the flat objects as JSON lines on its input say. */
@file:JvmName("CorpusHost")

package dev.mcpkeel

import dev.mcpkeel.flat.FlatClient
import dev.mcpkeel.flat.FlatException
import dev.mcpkeel.flat.FlatHttp1
import dev.mcpkeel.flat.FlatRecord
import dev.mcpkeel.flat.FlatServer
import dev.mcpkeel.flat.httpTarget
import java.io.BufferedInputStream
import java.io.ByteArrayOutputStream
import java.io.FileDescriptor
import java.io.FileInputStream
import java.io.FileOutputStream
import java.nio.ByteBuffer
import java.nio.charset.CharacterCodingException
import java.nio.charset.CodingErrorAction
import java.util.Base64

/** One method of an object: its arguments one after the other. */
private class Arguments(private val values: JsonArray) {
    private var at = 0

    fun number(): Long = values[at++].asLong()

    fun text(): String = when (val value = values[at++]) {
        is JsonString -> value.value
        else -> value.toString()
    }

    fun bytes(): ByteArray {
        val value = values[at++].asObject()
        return value.string("utf8")?.toByteArray() ?: Base64.getDecoder().decode(value.string("bytes"))
    }
}

private fun server(flat: FlatServer, method: String, of: Arguments): Any = when (method) {
    "set_catalog" -> flat.setCatalog(of.text(), of.number())
    "open" -> flat.open(of.number(), of.text(), of.number())
    "receive" -> flat.receive(of.number(), of.bytes(), of.number())
    "end" -> flat.end(of.number(), of.number())
    "request" -> flat.request(of.number(), of.text(), of.bytes(), of.number())
    "gone" -> flat.gone(of.number(), of.number())
    "respond" -> flat.respond(of.number(), of.text(), of.number())
    "ask" -> flat.ask(of.number(), of.text(), of.text(), of.number())
    "progress" -> flat.progress(of.number(), of.text(), of.number())
    "log" -> flat.log(of.number(), of.text(), of.number())
    "publish" -> flat.publish(of.text(), of.number())
    "call_info" -> flat.callInfo(of.number())
    "timeout" -> flat.timeout(of.number())
    "close" -> flat.close(of.number())
    else -> error("a server has no method $method")
}

private fun client(flat: FlatClient, method: String, of: Arguments): Any = when (method) {
    "start" -> flat.start(of.number())
    "receive" -> flat.receive(of.bytes(), of.number())
    "ended" -> flat.ended(of.text(), of.number())
    "response" -> flat.response(of.number(), of.number(), of.text(), of.number())
    "body" -> flat.body(of.number(), of.bytes(), of.number())
    "end" -> flat.end(of.number(), of.number())
    "failed" -> flat.failed(of.number(), of.text(), of.number())
    "request" -> flat.request(of.number(), of.text(), of.text(), of.text(), of.number())
    "cancel" -> flat.cancel(of.number(), of.text(), of.number())
    "answer" -> flat.answer(of.number(), of.text(), of.number())
    "notify" -> flat.notify(of.text(), of.text(), of.number())
    "timeout" -> flat.timeout(of.number())
    "close" -> flat.close(of.number())
    else -> error("a client has no method $method")
}

private fun http1(flat: FlatHttp1, method: String, of: Arguments): Any = when (method) {
    "encode" -> flat.encode(of.text(), of.text())
    "receive" -> flat.receive(of.bytes())
    "finish" -> flat.finish()
    "target" -> httpTarget(of.text())
    else -> error("http1 has no method $method")
}

private var current: AutoCloseable? = null

private fun create(line: JsonObject) {
    current?.close()
    current = null
    val config = line.string("config").orEmpty()
    val seed = line.string("seed").orEmpty().chunked(2).map { it.toInt(16).toByte() }.toByteArray()
    current = when (val kind = line.string("object")) {
        "server" -> FlatServer(config, seed)
        "client" -> FlatClient(config, seed)
        "http1" -> FlatHttp1()
        else -> error("there is no object $kind")
    }
}

private fun call(line: JsonObject): Any {
    val method = line.string("method").orEmpty()
    val arguments = Arguments(line.array("args") ?: JsonArray(emptyList()))
    return when (val flat = current) {
        is FlatServer -> server(flat, method, arguments)
        is FlatClient -> client(flat, method, arguments)
        is FlatHttp1 -> http1(flat, method, arguments)
        else -> error("there is no object")
    }
}

private val decoder = Charsets.UTF_8.newDecoder()
    .onMalformedInput(CodingErrorAction.REPORT).onUnmappableCharacter(CodingErrorAction.REPORT)

/** Text, or what is none as base64. */
private fun show(out: StringBuilder, bytes: ByteArray) {
    try {
        quote(out, decoder.decode(ByteBuffer.wrap(bytes)).toString())
    } catch (_: CharacterCodingException) {
        out.append("{\"b64\":\"").append(Base64.getEncoder().encodeToString(bytes)).append("\"}")
    }
}

private fun records(out: StringBuilder, records: List<*>) {
    out.append("{\"records\":[")
    records.forEachIndexed { index, found ->
        val record = found as FlatRecord
        if (index > 0) out.append(',')
        out.append("[\"").append(record.kind).append("\",").append(record.stream).append(',').append(record.id).append(',')
        quote(out, record.name)
        out.append(',')
        show(out, record.text)
        out.append(',').append(record.until).append(']')
    }
    out.append("]}")
}

private fun answer(out: StringBuilder, text: String) {
    try {
        val line = JsonValue.parse(text).asObject()
        if (line.string("op") == "new") {
            create(line)
            out.append("{\"ok\":true}")
            return
        }
        when (val given = call(line)) {
            is List<*> -> records(out, given)
            is ByteArray -> {
                out.append("{\"text\":")
                show(out, given)
                out.append('}')
            }
            else -> out.append(jsonObject("text" to given))
        }
    } catch (refused: FlatException.Refused) {
        out.append(jsonObject("error" to jsonObject("code" to refused.code, "message" to refused.detail)))
    }
}

public fun main() {
    val input = BufferedInputStream(FileInputStream(FileDescriptor.`in`), 1 shl 16)
    val output = FileOutputStream(FileDescriptor.out)
    val line = ByteArrayOutputStream()
    val answers = StringBuilder()
    while (true) {
        val byte = input.read()
        if (byte < 0) return
        if (byte != '\n'.code) {
            line.write(byte)
            continue
        }
        answer(answers, line.toString(Charsets.UTF_8))
        line.reset()
        answers.append('\n')
        // Several calls may come at once, and then their answers leave together.
        if (answers.length > 1 shl 16 || input.available() == 0) {
            output.write(answers.toString().toByteArray())
            answers.setLength(0)
        }
    }
}
