import Dispatch
import Foundation

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Where HTTP is served, and whom the server believes.
public struct HTTPOptions: Sendable {
    /// 0 picks a free one.
    public var port: UInt16
    /// Loopback unless told.
    public var host: String
    public var path: String?
    /// What is accepted in a header that names a place.
    public enum Accepted: Sendable {
        /// Loopback names.
        case loopback
        case any
        case these([String])
    }
    /// Values of the Host header.
    public var hosts: Accepted = .loopback
    /// Values of the Origin header.
    public var origins: Accepted = .loopback
    /// Connections that may be open at once; more are answered with status 503 and closed.
    public var maxConnections = 4096

    public init(port: UInt16 = 0, host: String = "127.0.0.1", path: String? = nil) {
        (self.port, self.host, self.path) = (port, host, path)
    }

    var rules: JSON.Object {
        var rules: JSON.Object = [:]
        rules["path"] = path.json
        rules["hosts"] = hosts.json
        rules["origins"] = origins.json
        return rules
    }
}

extension HTTPOptions.Accepted {
    /// What the core takes; nil for its default.
    fileprivate var json: JSON? {
        switch self {
        case .loopback: nil
        case .any: .null
        case .these(let values): .array(values.map(JSON.string))
        }
    }
}

extension Server {
    /// Serves HTTP until SIGTERM or SIGINT comes or the task is cancelled; `ready` gets the address once connections are
    /// accepted.
    public func serveHTTP(_ options: HTTPOptions, ready: (@Sendable (HTTPListener) -> Void)? = nil) async throws {
        let listener = try listenHTTP(options)
        let stop = Latch()
        let sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { stop.open() }
            source.resume()
            return source
        }
        ready?(listener)
        await withTaskCancellationHandler {
            await stop.wait()
        } onCancel: {
            stop.open()
        }
        for source in sources { source.cancel() }
        for number in [SIGTERM, SIGINT] { signal(number, SIG_DFL) }
        await listener.close()
    }

    /// The same on a port.
    public func serveHTTP(port: UInt16, ready: (@Sendable (HTTPListener) -> Void)? = nil) async throws {
        try await serveHTTP(HTTPOptions(port: port), ready: ready)
    }

    /// Serves HTTP until the listener is closed.
    public func listenHTTP(_ options: HTTPOptions) throws -> HTTPListener {
        try HTTPListener(self, running(http: options.rules), options)
    }
}

/// A running HTTP server. Raw bytes of each connection go to the core, which knows HTTP.
public final class HTTPListener: Sendable {
    public let host: String
    public let port: UInt16
    public let url: URL
    private let server: Server
    private let acceptor: Acceptor

    /// How many seconds the last answers may take to be delivered once the server closes.
    private static let grace = 2.0

    fileprivate init(_ server: Server, _ serving: Serving, _ options: HTTPOptions) throws {
        let (descriptor, port) = try listening(options.host, options.port)
        let name = options.host.contains(":") ? "[\(options.host)]" : options.host
        guard let url = URL(string: "http://\(name):\(port)\(options.path ?? "/mcp")") else {
            _ = sys_close(descriptor)
            throw UsageError("no URL has the host \(options.host)")
        }
        (self.host, self.port, self.url, self.server) = (options.host, port, url, server)
        acceptor = Acceptor(descriptor, serving, most: options.maxConnections)
    }

    /// Stops accepting and closes the server: what runs is answered with an error first.
    public func close() async {
        acceptor.stop()
        await server.close()
        if await !acceptor.empty.wait(seconds: HTTPListener.grace) { acceptor.cancel() }
        _ = await acceptor.empty.wait(seconds: 1)
    }
}

/// Accepts connections and hands them to the server.
private final class Acceptor: @unchecked Sendable {
    /// Opens when it has stopped and no connection is left.
    let empty = Latch()
    private let queue = DispatchQueue(label: "mcp-keel.accept", target: .global())
    private let descriptor: Int32
    private let serving: Serving
    private let most: Int
    private var open: [Int64: ByteStream] = [:]
    private var isStopped = false

    init(_ descriptor: Int32, _ serving: Serving, most: Int) {
        (self.descriptor, self.serving, self.most) = (descriptor, serving, most)
        queue.async { self.listen() }
    }

    func stop() {
        queue.async { [self] in
            guard !isStopped else { return }
            isStopped = true
            Poller.shared.forget(descriptor)
            _ = sys_close(descriptor)
            if open.isEmpty { empty.open() }
        }
    }

    private func listen() {
        guard !isStopped else { return }
        Poller.shared.watch(descriptor, .reading) { self.queue.async { self.accept() } }
    }

    func cancel() {
        queue.async { for stream in self.open.values { stream.cancel() } }
    }

    private func accept() {
        while !isStopped {
            let socket = sys_accept(descriptor)
            guard socket >= 0 else {
                // Without descriptors left it would be told again and again.
                let isShort = errno == EMFILE || errno == ENFILE
                return queue.asyncAfter(deadline: .now() + (isShort ? 0.1 : 0)) { self.listen() }
            }
            if open.count >= most { refuse(socket) } else { connect(socket) }
        }
    }

    private func refuse(_ socket: Int32) {
        let busy = Data("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".utf8)
        _ = busy.withUnsafeBytes { sys_write(socket, $0.baseAddress, $0.count) }
        _ = sys_close(socket)
    }

    private func connect(_ socket: Int32) {
        let number = Locked<Int64>(0)
        let serving = serving
        let stream = ByteStream(input: socket, output: socket) { [weak self] event in
            let stream = number.with { $0 }
            switch event {
            case .bytes(let bytes): serving.hear(.receive(stream, bytes))
            case .end: serving.hear(.end(stream))
            case .broken: serving.hear(.gone(stream))
            case .drained: serving.hear(.drained)
            case .closed:
                serving.hear(.gone(stream))
                self?.forget(stream)
            }
        }
        let opened = serving.open(.http1, SocketSink(stream: stream))
        number.with { $0 = opened }
        open[opened] = stream
        stream.start()
    }

    private func forget(_ stream: Int64) {
        queue.async {
            self.open[stream] = nil
            if self.isStopped, self.open.isEmpty { self.empty.open() }
        }
    }
}

private struct SocketSink: Sink {
    let stream: ByteStream
    var queued: Int { stream.queued }

    func write(_ bytes: Data) { stream.write(bytes) }
    func close() { stream.close() }
    func took(_ count: Int) { stream.took(count) }
}

private func sys_accept(_ descriptor: Int32) -> Int32 {
    let socket = accept(descriptor, nil, nil)
    if socket >= 0 {
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        var yes: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }
    return socket
}

/// A socket that listens, and the port that it got.
private func listening(_ host: String, _ port: UInt16) throws -> (Int32, UInt16) {
    var hints = addrinfo()
    hints.ai_flags = AI_PASSIVE
    #if os(Linux)
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
    hints.ai_socktype = SOCK_STREAM
    #endif
    var found: UnsafeMutablePointer<addrinfo>?
    let failed = getaddrinfo(host, String(port), &hints, &found)
    guard failed == 0, let address = found?.pointee else {
        throw UsageError("no address for \(host): \(String(cString: gai_strerror(failed)))")
    }
    defer { freeaddrinfo(found) }
    let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    guard descriptor >= 0, bind(descriptor, address.ai_addr, address.ai_addrlen) == 0, listen(descriptor, 512) == 0 else {
        let reason = String(cString: strerror(errno))
        _ = sys_close(descriptor)
        throw UsageError("cannot listen on \(host):\(port): \(reason)")
    }
    var name = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    _ = withUnsafeMutablePointer(to: &name) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    // The port is at the same place in both kinds of address.
    let bound = withUnsafePointer(to: &name) { $0.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee.sin_port } }
    return (descriptor, UInt16(bigEndian: bound))
}
