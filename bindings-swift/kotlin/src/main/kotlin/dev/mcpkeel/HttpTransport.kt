package dev.mcpkeel

import java.io.IOException
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse
import java.nio.ByteBuffer
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CompletionException
import java.util.concurrent.CompletionStage
import java.util.concurrent.Flow
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.suspendCancellableCoroutine

/**
 * Sends HTTP requests for clients. [JdkHttpTransport] does it with `java.net.http`; Android has none, so there write one over
 * OkHttp or another library: a call to [exchange] is one request and its answer.
 */
public interface HttpTransport {
    /**
     * Sends a request and hands over its answer as it comes: once [head], then [body] for each part. Both may suspend, and
     * then no more is to be read. Returns when the answer is complete; throws IOException when the network failed or the
     * answer was cut short. When the coroutine is cancelled the exchange is to be dropped. Redirects must not be followed: they
     * would carry the headers, and the credentials in them, elsewhere.
     */
    public suspend fun exchange(
        request: HttpExchange,
        head: suspend (status: Int, headers: List<Pair<String, String>>) -> Unit,
        body: suspend (bytes: ByteArray) -> Unit,
    )
}

/** One HTTP request. */
public class HttpExchange(
    public val method: String,
    public val url: String,
    public val headers: List<Pair<String, String>>,
    public val body: String?,
)

/** HTTP by `java.net.http`. */
public class JdkHttpTransport(private val client: HttpClient = standard()) : HttpTransport {
    override suspend fun exchange(
        request: HttpExchange,
        head: suspend (status: Int, headers: List<Pair<String, String>>) -> Unit,
        body: suspend (bytes: ByteArray) -> Unit,
    ) {
        val sent = client.sendAsync(made(request)) { Parts() }
        val response = answer(sent)
        val parts = response.body()
        try {
            head(response.statusCode(), response.headers().map().flatMap { (name, values) -> values.map { name to it } })
            parts.each(body)
        } finally {
            parts.cancel()
        }
    }

    /** Waits for the head. Only a cancellation that may interrupt closes the connection. */
    private suspend fun answer(sent: CompletableFuture<HttpResponse<Parts>>): HttpResponse<Parts> =
        suspendCancellableCoroutine { waiting ->
            waiting.invokeOnCancellation { sent.cancel(true) }
            sent.whenComplete { response, error ->
                if (error == null) waiting.resume(response) else waiting.resumeWithException(network(error))
            }
        }

    private fun network(error: Throwable): IOException {
        val cause = (error as? CompletionException)?.cause ?: error
        return cause as? IOException ?: IOException(words(cause), cause)
    }

    private fun made(request: HttpExchange): HttpRequest = try {
        val publisher = request.body?.let { HttpRequest.BodyPublishers.ofString(it) } ?: HttpRequest.BodyPublishers.noBody()
        val made = HttpRequest.newBuilder(URI(request.url)).method(request.method, publisher)
        for ((name, value) in request.headers) made.header(name, value)
        made.build()
    } catch (error: Exception) {
        throw IOException(words(error), error)
    }

    /** The parts of one answer, asked for one after the other. */
    private class Parts : HttpResponse.BodySubscriber<Parts>, Flow.Subscriber<List<ByteBuffer>> {
        private val queue = Channel<List<ByteBuffer>>(Channel.UNLIMITED)

        @Volatile
        private var subscription: Flow.Subscription? = null

        override fun getBody(): CompletionStage<Parts> = CompletableFuture.completedFuture(this)

        override fun onSubscribe(subscription: Flow.Subscription) {
            this.subscription = subscription
            subscription.request(1)
        }

        override fun onNext(item: List<ByteBuffer>) {
            queue.trySend(item)
        }

        override fun onError(error: Throwable) {
            queue.close(error as? IOException ?: IOException(words(error), error))
        }

        override fun onComplete() {
            queue.close()
        }

        suspend fun each(body: suspend (ByteArray) -> Unit) {
            for (buffers in queue) {
                for (buffer in buffers) body(ByteArray(buffer.remaining()).also(buffer::get))
                subscription?.request(1)
            }
        }

        fun cancel() {
            subscription?.cancel()
        }
    }

    private companion object {
        fun standard(): HttpClient = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(Duration.ofSeconds(30))
            .build()
    }
}
