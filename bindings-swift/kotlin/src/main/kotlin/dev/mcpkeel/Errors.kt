package dev.mcpkeel

import dev.mcpkeel.flat.FlatException

/** Everything that this package throws. [code] is a stable word, the same in every language. */
public sealed class KeelException(override val message: String, public val code: String, cause: Throwable? = null) :
    Exception(message, cause)

/** The caller asked for something that is not possible here; nothing was sent. */
public class UsageError(message: String, code: String = "usage", cause: Throwable? = null) : KeelException(message, code, cause)

/** Data did not fit its schema or type. */
public class InvalidError(message: String, code: String = "invalid", cause: Throwable? = null) : KeelException(message, code, cause)

/** One of the bounds in `limits` was reached. */
public class LimitError(message: String, code: String = "limit") : KeelException(message, code)

/** No answer came in time. The peer was told that the request is cancelled. */
public class RequestTimeout(message: String, code: String = "timeout") : KeelException(message, code)

/** The request was cancelled by other means than cancelling the coroutine that waits for it. */
public class Cancelled(message: String, code: String = "cancelled") : KeelException(message, code)

/** The connection is gone. The message says why, with the last words of a dead child process. */
public class Disconnected(message: String, code: String = "disconnected", cause: Throwable? = null) : KeelException(message, code, cause)

/** A defect of this package. The server or client that threw it is of no use any more. */
public class InternalError(message: String, cause: Throwable? = null) : KeelException(message, "internal_error", cause)

/**
 * The other side answered with a JSON-RPC error. Thrown by a handler, it is what the client gets as its answer:
 * `throw PeerError("no such city", rpcCode = -32602)`.
 */
public class PeerError(message: String, public val rpcCode: Long, public val data: JsonValue? = null, code: String = "peer") :
    KeelException(message, code)

/** The error for an `error` record of the core. */
internal fun fromRecord(text: String): KeelException {
    val told = JsonValue.parse(text).asObject()
    val code = told.string("code") ?: "error"
    val message = told.string("message").orEmpty()
    told.obj("rpc")?.let { return fromRpc(it, code) }
    return when (told.string("kind")) {
        "invalid" -> InvalidError(message, code)
        "limit" -> LimitError(message, code)
        "timeout" -> RequestTimeout(message, code)
        "cancelled" -> Cancelled(message, code)
        "disconnected" -> Disconnected(message, code)
        else -> UsageError(message, code)
    }
}

/** The error for the `error` member of an outcome. */
internal fun fromRpc(wire: JsonObject, code: String = "peer"): PeerError {
    val number = (wire["code"] as? JsonNumber)?.long() ?: 0
    return PeerError((wire["message"] as? JsonString)?.value.orEmpty(), number, wire["data"], code)
}

/** The error for a call that the core refused. */
internal fun fromCore(refused: FlatException): KeelException = when (refused) {
    is FlatException.Refused ->
        if (refused.code == "internal_error") InternalError(refused.detail, refused) else UsageError(refused.detail, refused.code, refused)
}

/** What peers are told of an exception: never where it happened. */
internal fun words(error: Throwable): String = error.message?.takeIf { it.isNotEmpty() } ?: error.javaClass.simpleName
