package dev.mcpkeel

import java.io.File
import java.util.concurrent.atomic.AtomicInteger

/**
 * Sees a message as JSON text: ">" sent, "<" received. What belongs to one pipe or session has one conversation; 0 is a
 * message that was refused before it belonged to any. Called by the one that drives the connection: it must return soon, and
 * must not wait for the client or server that it watches.
 */
public typealias Trace = (direction: String, message: String, conversation: Long) -> Unit

/**
 * With `KEEL_TRACE=FOLDER` in the environment every client and server of this process writes down there what it sends and
 * gets: `ROLE#OBJECT.CONVERSATION > JSON`, a message a line, in a file for each process. Messages hold what users said: for
 * looking into a problem, not for keeping.
 */
internal object Journal {
    private val objects = AtomicInteger()
    private val file: File? = System.getenv("KEEL_TRACE")?.takeIf { it.isNotEmpty() }?.let { folder ->
        File(folder).mkdirs()
        File(folder, "${ProcessHandle.current().pid()}.trace")
    }

    /** The user's trace and the journal as one; null when there is neither. */
    fun with(role: String, own: Trace?): Trace? {
        val file = file ?: return own
        val number = objects.incrementAndGet()
        return { direction, message, conversation ->
            // A line feed in JSON is space between its parts.
            val line = message.replace('\r', ' ').replace('\n', ' ')
            synchronized(this) { file.appendText("$role#$number.$conversation $direction $line\n") }
            own?.invoke(direction, message, conversation)
        }
    }
}
