import Foundation
import KeelFlat

/// One byte stream of a client.
protocol Sink: Sendable {
    func write(_ bytes: Data)
    /// Closes once all is written.
    func close()
    /// So many bytes that it told have been used.
    func took(_ count: Int)
    /// Bytes that the client has not read yet.
    var queued: Int { get }
}

/// What runs for one handler key.
struct Handler: Sendable {
    /// The result for an input, both as JSON.
    let run: @Sendable (JSON, Context) async throws -> JSON
    /// The outcome for what it threw.
    let failure: @Sendable (any Error) -> String
}

/// The running part of a server: feeds one flat object, performs its records, starts handlers. No code of users runs in it.
actor Serving {
    enum Transport: String, Sendable { case pipe, http1 }

    enum Event: Sendable {
        case opened(Int64, Transport, any Sink)
        case receive(Int64, Data)
        case end(Int64)
        case gone(Int64)
        case drained
        case timeout
        case catalog(String)
        case publish(String)
        case log(String)
    }

    /// What users are told of.
    struct Observers: Sendable {
        /// The handler for a key.
        let handler: @Sendable (String) -> Handler?
        let onError: (@Sendable (_ error: any Error, _ key: String) -> Void)?
        let onViolation: (@Sendable (_ code: String, _ message: String) -> Void)?
        let onNotice: (@Sendable (Notice) -> Void)?
        let trace: Trace?
    }

    private struct Call {
        let context: Context
        var task: Task<Void, Never>?
    }

    private let flat: FlatServer
    private let observers: Observers
    private let inbox: AsyncStream<Event>.Continuation
    private let news: AsyncStream<@Sendable () -> Void>.Continuation
    private let streams = Locked<Int64>(0)
    private var deadline: Deadline
    private var sinks: [Int64: any Sink] = [:]
    private var calls: [Int64: Call] = [:]
    /// Calls of clients that do not read their answers.
    private var parked: [(Context, String)] = []
    private var rooms: [CheckedContinuation<Void, Never>] = []

    /// With so many bytes queued a stream is full: new calls on it wait.
    private static let full = 1024 * 1024

    init(config: JSON, catalog: JSON, observers: Observers) throws {
        flat = try asking { try FlatServer(config: config.description, seed: randomSeed()) }
        self.observers = observers
        let (events, inbox) = AsyncStream<Event>.makeStream()
        let (told, news) = AsyncStream<@Sendable () -> Void>.makeStream()
        self.inbox = inbox
        self.news = news
        deadline = Deadline { inbox.yield(.timeout) }
        let first = try asking { try flat.setCatalog(catalog: catalog.description, now: now()) }
        Task { [weak self] in
            await self?.perform(first)
            for await event in events { await self?.handle(event) }
        }
        Task.detached {
            for await tell in told { tell() }
        }
    }

    deinit {
        inbox.finish()
        news.finish()
    }

    /// A connection; its stream number.
    nonisolated func open(_ transport: Transport, _ sink: any Sink) -> Int64 {
        let stream = streams.with { streams in
            streams += 1
            return streams
        }
        inbox.yield(.opened(stream, transport, sink))
        return stream
    }

    nonisolated func hear(_ event: Event) {
        inbox.yield(event)
    }

    /// Cancels what runs, answers it with an error, and closes every connection.
    func close() {
        feed { try flat.close(now: now()) }
        deadline.stop()
    }

    private func handle(_ event: Event) {
        let time = now()
        switch event {
        case .opened(let stream, let transport, let sink):
            sinks[stream] = sink
            feed { try flat.open(stream: stream, transport: transport.rawValue, now: time) }
        case .receive(let stream, let bytes):
            guard let sink = sinks[stream] else { return }
            feed { try flat.receive(stream: stream, bytes: bytes, now: time) }
            sink.took(bytes.count)
        case .end(let stream):
            if sinks[stream] != nil { feed { try flat.end(stream: stream, now: time) } }
        case .gone(let stream):
            guard sinks.removeValue(forKey: stream) != nil else { return }
            feed { try flat.gone(stream: stream, now: time) }
            // Calls that wait for their client to read will not see it read.
            drained()
        case .drained: drained()
        case .timeout: if deadline.rang(at: time) { feed { try flat.timeout(now: time) } }
        case .catalog(let catalog): change { try flat.setCatalog(catalog: catalog, now: time) }
        case .publish(let change): self.change { try flat.publish(change: change, now: time) }
        case .log(let entry): change { try flat.log(call: 0, entry: entry, now: time) }
        }
    }

    /// A command of the user that nobody waits for.
    private func change(_ command: () throws -> Records) {
        do {
            perform(try asking(command))
        } catch {
            report(error, "server")
        }
    }

    /// Input of a transport. What goes wrong with it is nobody's call: it ends the connections, not the process.
    private func feed(_ input: () throws -> Records) {
        do {
            perform(try asking(input))
        } catch {
            report(error, "core")
            deadline.stop()
            for sink in sinks.values { sink.close() }
            sinks = [:]
        }
    }

    private func report(_ error: any Error, _ key: String) {
        if let onError = observers.onError { news.yield { onError(error, key) } }
    }

    private func perform(_ records: Records) {
        var written: (stream: Int64, bytes: Data)?
        func flush() {
            if let written { sinks[written.stream]?.write(written.bytes) }
            written = nil
        }
        for record in records {
            if record.kind == "write" {
                if written?.stream != record.stream { flush() }
                if written == nil { written = (record.stream, record.text) } else { written?.bytes.append(record.text) }
            } else {
                flush()
                perform(record)
            }
        }
        flush()
    }

    private func perform(_ record: FlatRecord) {
        switch record.kind {
        case "wait": deadline.set(record.until)
        case "close": sinks.removeValue(forKey: record.stream)?.close()
        case "call":
            let context = Context(serving: self, stream: record.stream, call: record.id, key: record.name)
            calls[record.id] = Call(context: context)
            start(context, record.string)
        case "answer": calls[record.id]?.context.answered(record.name, record.string)
        case "cancelled":
            guard let call = calls.removeValue(forKey: record.id) else { return }
            call.context.cancel(record.string)
            call.task?.cancel()
        case "notice":
            guard let onNotice = observers.onNotice, let params = try? JSON(parsing: record.text.isEmpty ? "{}" : record.string) else { return }
            let notice = Notice(method: record.name, params: params)
            news.yield { onNotice(notice) }
        case "trace":
            guard let trace = observers.trace else { return }
            let (direction, message, conversation) = (record.name, record.string, Int(record.id))
            news.yield { trace(direction, message, conversation) }
        case "violation":
            guard let onViolation = observers.onViolation else { return }
            let (code, message) = (record.name, record.string)
            news.yield { onViolation(code, message) }
        default: break
        }
    }

    private func isFull(_ stream: Int64) -> Bool {
        (sinks[stream]?.queued ?? 0) >= Serving.full
    }

    private func drained() {
        for room in rooms { room.resume() }
        rooms = []
        let waiting = parked
        parked = []
        for (context, input) in waiting where calls[context.call] != nil { start(context, input) }
    }

    private func start(_ context: Context, _ input: String) {
        guard !isFull(context.stream) else { return parked.append((context, input)) }
        let (handler, key) = (observers.handler(context.key), context.key)
        calls[context.call]?.task = Task.detached { [self] in
            guard let handler else {
                return await respond(context.call, errorOutcome(code: -32603, message: "no handler for \(key)"))
            }
            do {
                let result = try await handler.run(try JSON(parsing: input), context)
                await respond(context.call, outcome(result))
            } catch {
                await failed(context.call, error, key, handler.failure(error))
            }
        }
    }

    private func failed(_ call: Int64, _ error: any Error, _ key: String, _ outcome: String) {
        guard calls[call] != nil else { return }
        report(error, key)
        respond(call, outcome)
    }

    /// The outcome of a call; one that is over has none.
    private func respond(_ call: Int64, _ outcome: String) {
        guard let context = calls.removeValue(forKey: call)?.context else { return }
        context.finish()
        do {
            perform(try asking { try flat.respond(call: call, outcome: outcome, now: now()) })
        } catch {
            // The core takes no such outcome; the call must get an answer all the same.
            report(error, context.key)
            let failure = errorOutcome(code: -32603, message: words(error))
            feed { try flat.respond(call: call, outcome: failure, now: now()) }
        }
    }

    // What contexts do.

    func progress(_ context: Context, _ told: String) async throws {
        if !isFull(context.stream) { perform(try asking { try flat.progress(call: context.call, progress: told, now: now()) }) }
        await room(context.stream)
    }

    func log(_ context: Context, _ entry: String) async throws {
        if !isFull(context.stream) { perform(try asking { try flat.log(call: context.call, entry: entry, now: now()) }) }
        await room(context.stream)
    }

    func ask(_ call: Int64, _ key: String, _ request: String) throws {
        perform(try asking { try flat.ask(call: call, key: key, request: request, now: now()) })
    }

    func info(_ call: Int64) throws -> String {
        try asking { try flat.callInfo(call: call) }
    }

    /// Returns when that stream may be sent more, or is gone.
    private func room(_ stream: Int64) async {
        while isFull(stream) { await withCheckedContinuation { rooms.append($0) } }
    }
}
