import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// HTTP by the URLSession of the platform.
///
/// On Linux it keeps its own watch on sockets with the sources of Dispatch (see `Poller`), so it serves there only what
/// needs TLS.
final class SessionLink: NSObject, Link, URLSessionDataDelegate, @unchecked Sendable {
    private let url: URL
    private let headers: [String: String]
    private var session: URLSession!
    private var hear: Hear = { _ in }
    /// Exchanges by the number of their task.
    private let running = Locked<[Int: (stream: Int64, task: URLSessionDataTask)]>([:])

    /// Seconds: streams may be silent for long, and deadlines are the core's.
    private static let forever = 30.0 * 24 * 3600

    init(_ url: URL, headers: [String: String]) {
        (self.url, self.headers) = (url, headers)
    }

    var config: JSON.Object { httpConfig(url, headers) }

    func open(_ hear: @escaping Hear) async throws {
        self.hear = hear
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = SessionLink.forever
        configuration.timeoutIntervalForResource = SessionLink.forever
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.httpShouldSetCookies = false
        // Each stream of events holds a connection.
        configuration.httpMaximumConnectionsPerHost = 256
        session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }

    func fetch(_ stream: Int64, _ method: String, _ exchange: String) {
        guard let exchange = try? JSON(parsing: exchange), let url = exchange["url"]?.string.flatMap(URL.init(string:)) else {
            return hear(.failed(stream, "this platform takes no such URL: \(exchange)"))
        }
        var request = URLRequest(url: url, timeoutInterval: SessionLink.forever)
        request.httpMethod = method
        for header in exchange["headers"]?.array ?? [] {
            if let name = header[0]?.string, let value = header[1]?.string { request.addValue(value, forHTTPHeaderField: name) }
        }
        request.httpBody = exchange["body"]?.string.map { Data($0.utf8) }
        let task = session.dataTask(with: request)
        running.with { $0[task.taskIdentifier] = (stream, task) }
        task.resume()
    }

    func abort(_ stream: Int64) {
        let task = running.with { running in
            let found = running.first { $0.value.stream == stream }
            if let found { running[found.key] = nil }
            return found?.value.task
        }
        task?.cancel()
    }

    func closed() async {
        running.with { $0 = [:] }
        session?.invalidateAndCancel()
    }

    private func stream(of task: URLSessionTask) -> Int64? {
        running.with { $0[task.taskIdentifier]?.stream }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        if let stream = stream(of: dataTask), let head = response as? HTTPURLResponse {
            let lines = head.allHeaderFields.map { "\($0): \($1)\n" }.joined()
            hear(.response(stream, status: head.statusCode, headers: lines))
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        if let stream = stream(of: dataTask) { hear(.body(stream, data)) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let stream = running.with({ $0.removeValue(forKey: task.taskIdentifier)?.stream }) else { return }
        if let error { hear(.failed(stream, error.localizedDescription)) } else { hear(.end(stream)) }
    }

    /// A redirect would carry the headers, and the credentials in them, elsewhere: the core decides.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
