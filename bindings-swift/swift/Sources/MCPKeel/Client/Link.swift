import Foundation

/// What a link tells its client.
enum LinkEvent: Sendable {
    /// Pipes: bytes arrived.
    case receive(Data)
    /// Pipes: it is gone, and why in words.
    case ended(String)
    /// HTTP: the parts of the answer to one exchange; headers are lines `name: value`.
    case response(Int64, status: Int, headers: String)
    case body(Int64, Data)
    case end(Int64)
    case failed(Int64, String)
}

typealias Hear = @Sendable (LinkEvent) -> Void

/// How a client reaches its server. Links carry bytes and HTTP parts; what they mean is the core's.
protocol Link: Sendable {
    /// Members of the core's configuration: `link`, and `url` and `headers` for HTTP.
    var config: JSON.Object { get }
    /// Starts it. `hear` is called in order and never from within a call of the link.
    func open(_ hear: @escaping Hear) async throws
    /// Pipes: sends bytes.
    func write(_ bytes: Data)
    /// Pipes: so many bytes that it told have been used.
    func took(_ count: Int)
    /// Pipes: no more will be written.
    func close()
    /// HTTP: sends a request, the JSON of a `fetch` record.
    func fetch(_ stream: Int64, _ method: String, _ exchange: String)
    /// HTTP: drops an exchange; nothing more is told of it.
    func abort(_ stream: Int64)
    /// Returns when nothing of the link is left; bounded in time.
    func closed() async
}

extension Link {
    func write(_ bytes: Data) {}
    func took(_ count: Int) {}
    func close() {}
    func fetch(_ stream: Int64, _ method: String, _ exchange: String) {}
    func abort(_ stream: Int64) {}
}

/// A client and a server in one process.
final class MemoryLink: Link {
    private let server: Server
    private let other = Locked<(serving: Serving, stream: Int64)?>(nil)

    init(_ server: Server) {
        self.server = server
    }

    var config: JSON.Object { ["link": "pipe"] }

    func open(_ hear: @escaping Hear) async throws {
        let serving = try server.running()
        let stream = serving.open(.pipe, MemorySink(hear: hear))
        other.with { $0 = (serving, stream) }
    }

    func write(_ bytes: Data) {
        other.with { $0 }.map { $0.serving.hear(.receive($0.stream, bytes)) }
    }

    func close() {
        other.with { $0 }.map { $0.serving.hear(.end($0.stream)) }
    }

    func closed() async {
        other.with { $0 }.map { $0.serving.hear(.gone($0.stream)) }
    }
}

private struct MemorySink: Sink {
    let hear: Hear
    var queued: Int { 0 }

    func took(_ count: Int) {}
    func write(_ bytes: Data) { hear(.receive(bytes)) }
    func close() { hear(.ended("the server closed the connection")) }
}
