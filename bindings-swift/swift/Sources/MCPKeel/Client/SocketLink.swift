import Dispatch
import Foundation
import KeelFlat

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// HTTP without TLS on sockets of this process; requests and answers are encoded by the core.
final class SocketLink: Link, @unchecked Sendable {
    private let url: URL
    private let headers: [String: String]
    private let queue = DispatchQueue(label: "mcp-keel.http", target: .global())

    // On the queue, but for `hear`, which is set once.
    private var hear: Hear = { _ in }
    private var idle: [String: [Wire]] = [:]
    private var running: [Int64: Wire] = [:]

    /// Seconds that a connection is kept for the next request: servers keep theirs five and more.
    private static let rest = 4.0
    /// Connections that are kept.
    private static let kept = 128

    init(_ url: URL, headers: [String: String]) {
        (self.url, self.headers) = (url, headers)
    }

    var config: JSON.Object { httpConfig(url, headers) }

    func open(_ hear: @escaping Hear) async throws {
        self.hear = hear
    }

    func fetch(_ stream: Int64, _ method: String, _ exchange: String) {
        queue.async { [self] in
            do {
                let place = try httpTarget(url: (try JSON(parsing: exchange))["url"]?.string ?? "")
                let wire = try idle[place]?.popLast() ?? connect(place)
                running[stream] = wire
                try wire.send(stream, method, exchange)
            } catch {
                running.removeValue(forKey: stream)?.cancel()
                hear(.failed(stream, words(error)))
            }
        }
    }

    private func connect(_ place: String) throws -> Wire {
        try Wire(place, on: queue) { [weak self] wire, event in self?.happened(wire, event) }
    }

    func abort(_ stream: Int64) {
        queue.async { self.running.removeValue(forKey: stream)?.cancel() }
    }

    func closed() async {
        queue.async { [self] in
            for wire in running.values { wire.cancel() }
            for wire in idle.values.joined() { wire.cancel() }
            (running, idle) = ([:], [:])
        }
    }

    private func happened(_ wire: Wire, _ event: Wire.Event) {
        switch event {
        case .records(let stream, let records):
            for record in records where running[stream] === wire { perform(wire, stream, record) }
        case .failed(let stream, let reason):
            if running[stream] === wire {
                running[stream] = nil
                hear(.failed(stream, reason))
            }
        case .unusable: idle[wire.place]?.removeAll { $0 === wire }
        }
    }

    private func perform(_ wire: Wire, _ stream: Int64, _ record: FlatRecord) {
        switch record.kind {
        case "head": hear(.response(stream, status: Int(record.id), headers: record.string))
        case "body": hear(.body(stream, record.text))
        case "end":
            running[stream] = nil
            // Before the end is told: it may bring the next request.
            if record.id == 1 { keep(wire) } else { wire.cancel() }
            hear(.end(stream))
        default: break
        }
    }

    private func keep(_ wire: Wire) {
        guard idle[wire.place, default: []].count < SocketLink.kept else { return wire.cancel() }
        idle[wire.place, default: []].append(wire)
        let uses = wire.rest()
        queue.asyncAfter(deadline: .now() + SocketLink.rest) { [weak self, weak wire] in
            guard let wire, wire.uses == uses else { return }
            self?.idle[wire.place]?.removeAll { $0 === wire }
            wire.cancel()
        }
    }
}

func httpConfig(_ url: URL, _ headers: [String: String]) -> JSON.Object {
    let given = headers.sorted { $0.key < $1.key }.map { ($0, JSON.string($1)) }
    return ["link": "http", "url": .string(url.absoluteString), "headers": .object(JSON.Object(given))]
}

/// One connection, for one exchange at a time. Everything happens on the queue of its link.
private final class Wire: @unchecked Sendable {
    enum Event {
        case records(Int64, [FlatRecord])
        case failed(Int64, String)
        /// It ended while nothing ran on it.
        case unusable
    }

    let place: String
    /// How many exchanges there were.
    private(set) var uses = 0
    private let codec: FlatHttp1
    private let queue: DispatchQueue
    private let tell: (Wire, Event) -> Void
    private var stream: ByteStream?
    /// What is to be sent once it is connected.
    private var unsent: [Data] = []
    private var exchange: Int64?
    private var isOver = false

    init(_ place: String, on queue: DispatchQueue, tell: @escaping (Wire, Event) -> Void) throws {
        (self.place, self.queue, self.tell) = (place, queue, tell)
        codec = try FlatHttp1()
        let address = try JSON(parsing: place)
        guard address["tls"] == false, let host = address["host"]?.string, let port = address["port"]?.int else {
            throw UsageError("sockets have no TLS")
        }
        DispatchQueue.global().async {
            let socket = Result { try connected(host.trimmingCharacters(in: ["[", "]"]), port) }
            queue.async { self.attach(socket) }
        }
    }

    func send(_ stream: Int64, _ method: String, _ text: String) throws {
        let bytes = try codec.encode(name: method, text: text)
        uses += 1
        exchange = stream
        if let stream = self.stream { stream.write(bytes) } else { unsent.append(bytes) }
    }

    /// The exchange is over; how many there were.
    func rest() -> Int {
        exchange = nil
        return uses
    }

    func cancel() {
        isOver = true
        exchange = nil
        stream?.cancel()
    }

    private func attach(_ connected: Result<Int32, any Error>) {
        switch connected {
        case .failure(let error): lost(words(error))
        case .success(let socket):
            guard !isOver else {
                _ = sys_close(socket)
                return
            }
            // Held until the stream is closed, which ends this circle.
            let stream = ByteStream(input: socket, output: socket) { event in
                self.queue.async { self.happened(event) }
            }
            self.stream = stream
            stream.start()
            for bytes in unsent { stream.write(bytes) }
            unsent = []
        }
    }

    private func happened(_ event: ByteEvent) {
        switch event {
        case .bytes(let bytes):
            stream?.took(bytes.count)
            feed { try codec.receive(bytes: bytes) }
        case .end: feed { try codec.finish() }
        case .broken, .closed: lost("the server closed the connection")
        case .drained: break
        }
    }

    private func feed(_ input: () throws -> [FlatRecord]) {
        guard !isOver else { return }
        guard let exchange else {
            // Nobody asked: a connection on which that happens is of no further use.
            tell(self, .unusable)
            return cancel()
        }
        do {
            tell(self, .records(exchange, try input()))
        } catch {
            lost(words(error))
        }
    }

    private func lost(_ reason: String) {
        guard !isOver else { return }
        let exchange = exchange
        cancel()
        tell(self, exchange.map { .failed($0, reason) } ?? .unusable)
    }
}

/// A socket that is connected to the first address that answers. Waits for that.
private func connected(_ host: String, _ port: Int) throws -> Int32 {
    var hints = addrinfo()
    #if os(Linux)
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
    hints.ai_socktype = SOCK_STREAM
    #endif
    var found: UnsafeMutablePointer<addrinfo>?
    let failed = getaddrinfo(host, String(port), &hints, &found)
    guard failed == 0 else { throw Disconnected("no address for \(host): \(String(cString: gai_strerror(failed)))") }
    defer { freeaddrinfo(found) }
    var reason = "no address"
    var next = found
    while let address = next?.pointee {
        next = address.ai_next
        let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
        guard descriptor >= 0 else { continue }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        if connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 {
            var yes: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
            return descriptor
        }
        reason = String(cString: strerror(errno))
        _ = sys_close(descriptor)
    }
    throw Disconnected("cannot connect to \(host):\(port): \(reason)")
}
