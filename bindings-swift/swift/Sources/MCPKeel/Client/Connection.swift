import Foundation
import KeelFlat

/// What comes for one request, in order; a result or a failure is the last.
enum Told: Sendable {
    case progress(String)
    case notice(Notice)
    case result(String)
    case failure(any Error)
}

/// What the server said of itself when the connection was opened.
struct Opened: Sendable {
    let revision: String
    let told: JSON
}

/// What a connection tells its client, in order and outside of the connection.
enum News: Sendable {
    case notice(Notice)
    case violation(String, String)
    case trace(String, String)
}

/// Answers a request of the server: its method and parameters, then the outcome as JSON text.
typealias Answer = @Sendable (_ method: String, _ params: String) async -> String

/// The running part of a client: feeds one flat object, performs its records, keeps who waits for what. No code of users
/// runs in it.
actor Connection {
    enum Event: Sendable {
        case link(LinkEvent)
        case timeout
        case cancel(Int64, String)
    }

    private let flat: FlatClient
    private let link: any Link
    private let answer: Answer
    private let inbox: AsyncStream<Event>.Continuation
    private let news: AsyncStream<News>.Continuation
    private var deadline: Deadline
    private var handles: Int64 = 0
    private var pending: [Int64: AsyncStream<Told>.Continuation] = [:]
    private var inputs: [Int64: Task<Void, Never>] = [:]
    private var listeners: [Int: AsyncStream<Notice>.Continuation] = [:]
    private var listenerCount = 0
    private var opening: CheckedContinuation<Opened, any Error>?
    private var opened: Result<Opened, any Error>?
    private var over: (any Error)?
    private var ending: [CheckedContinuation<Void, Never>] = []
    private var closing: Task<Void, Never>?

    init(
        link: any Link, config: JSON, answer: @escaping Answer, news: AsyncStream<News>.Continuation
    ) throws {
        flat = try asking { try FlatClient(config: config.description, seed: randomSeed()) }
        self.link = link
        self.answer = answer
        self.news = news
        let (events, inbox) = AsyncStream<Event>.makeStream()
        self.inbox = inbox
        deadline = Deadline { inbox.yield(.timeout) }
        Task { [weak self] in
            for await event in events { await self?.handle(event) }
        }
    }

    /// Opens the connection; returns when the server has answered.
    func start() async throws -> Opened {
        try await link.open { [inbox] event in inbox.yield(.link(event)) }
        if let over { throw over }
        perform(try asking { try flat.start(now: now()) })
        return try await withCheckedThrowingContinuation { waiting in
            if let opened { waiting.resume(with: opened) } else { opening = waiting }
        }
    }

    /// Sends a request: its handle, and what comes for it.
    func begin(_ method: String, _ params: String, _ options: String) throws -> (Int64, AsyncStream<Told>) {
        if let over { throw over }
        handles += 1
        let (told, continuation) = AsyncStream<Told>.makeStream()
        pending[handles] = continuation
        let handle = handles
        do {
            perform(try asking { try flat.request(handle: handle, method: method, params: params, options: options, now: now()) })
        } catch {
            pending[handle] = nil
            throw error
        }
        return (handle, told)
    }

    /// Takes effect before anything that is asked of the connection later.
    nonisolated func cancel(_ handle: Int64, _ reason: String) {
        inbox.yield(.cancel(handle, reason))
    }

    func notify(_ method: String, _ params: String) throws {
        if let over { throw over }
        perform(try asking { try flat.notify(method: method, params: params, now: now()) })
    }

    /// Notifications from now on. Of those that nobody takes the oldest are dropped.
    func notices() -> AsyncStream<Notice> {
        let (notices, continuation) = AsyncStream<Notice>.makeStream(bufferingPolicy: .bufferingNewest(4096))
        guard over == nil else {
            continuation.finish()
            return notices
        }
        listenerCount += 1
        let number = listenerCount
        listeners[number] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { await self?.forget(number) }
        }
        return notices
    }

    private func forget(_ number: Int) {
        listeners[number] = nil
    }

    /// Ends the connection, bounded in time, whatever state it is in.
    func close() async {
        let shutting = closing ?? Task { await shut() }
        closing = shutting
        await shutting.value
    }

    private func shut() async {
        feed { try flat.close(now: now()) }
        if over == nil {
            let late = Task {
                try? await Task.sleep(nanoseconds: 2_000_000_000)
                finish(Disconnected("the client was closed"))
            }
            await withCheckedContinuation { ending.append($0) }
            late.cancel()
        }
        await link.closed()
        finish(Disconnected("the client was closed"))
        inbox.finish()
        news.finish()
    }

    private func handle(_ event: Event) {
        switch event {
        case .timeout:
            let time = now()
            if deadline.rang(at: time) { feed { try flat.timeout(now: time) } }
        case .cancel(let handle, let reason):
            if pending.removeValue(forKey: handle) != nil { feed { try flat.cancel(handle: handle, reason: reason, now: now()) } }
        case .link(let event):
            switch event {
            case .receive(let bytes):
                feed { try flat.receive(bytes: bytes, now: now()) }
                link.took(bytes.count)
            case .ended(let reason): feed { try flat.ended(reason: reason, now: now()) }
            case .response(let stream, let status, let headers):
                feed { try flat.response(stream: stream, status: Int64(status), headers: headers, now: now()) }
            case .body(let stream, let bytes): feed { try flat.body(stream: stream, bytes: bytes, now: now()) }
            case .end(let stream): feed { try flat.end(stream: stream, now: now()) }
            case .failed(let stream, let reason): feed { try flat.failed(stream: stream, reason: reason, now: now()) }
            }
        }
    }

    /// Input that comes after the end changes nothing; an internal error ends everything that waits.
    private func feed(_ input: () throws -> Records) {
        do {
            perform(try asking(input))
        } catch let error as InternalError {
            finish(error)
        } catch {
            news.yield(.violation((error as? any KeelError)?.code ?? "error", words(error)))
        }
    }

    private func perform(_ records: Records) {
        var bytes = Data()
        for record in records {
            if record.kind == "write" {
                bytes.append(record.text)
            } else {
                if record.kind == "close" { flush(&bytes) }
                perform(record)
            }
        }
        flush(&bytes)
    }

    private func flush(_ bytes: inout Data) {
        guard !bytes.isEmpty else { return }
        link.write(bytes)
        bytes = Data()
    }

    private func perform(_ record: FlatRecord) {
        switch record.kind {
        case "wait": deadline.set(record.until)
        case "close": link.close()
        case "fetch": link.fetch(record.stream, record.name, record.string)
        case "abort": link.abort(record.stream)
        case "ready":
            settleOpening(Result { Opened(revision: record.name, told: try JSON(parsing: record.string)) })
        case "result": settle(record.id, .result(record.string))
        case "error": settle(record.id, .failure(failure(record: record.string)))
        case "progress": pending[record.id]?.yield(.progress(record.string))
        case "input": ask(record.id, record.name, record.text.isEmpty ? "{}" : record.string)
        case "input_cancelled": inputs.removeValue(forKey: record.id)?.cancel()
        case "notice": tell(record)
        case "trace": news.yield(.trace(record.name, record.string))
        case "violation": news.yield(.violation(record.name, record.string))
        case "closed":
            let known = record.name == "timeout" ? RequestTimeout(record.string) as any Error : nil
            finish(known ?? Disconnected(record.string, code: record.name.isEmpty ? "disconnected" : record.name))
        default: break
        }
    }

    private func settle(_ handle: Int64, _ outcome: Told) {
        guard let waiting = pending.removeValue(forKey: handle) else { return }
        waiting.yield(outcome)
        waiting.finish()
    }

    private func settleOpening(_ outcome: Result<Opened, any Error>) {
        guard opened == nil else { return }
        opened = outcome
        opening?.resume(with: outcome)
        opening = nil
    }

    private func tell(_ record: FlatRecord) {
        let params = record.text.isEmpty ? [:] : try? JSON(parsing: record.string)
        guard let params else {
            news.yield(.violation("invalid_json", "a notification that cannot be read: \(record.name)"))
            return
        }
        let notice = Notice(method: record.name, params: params)
        pending[record.id]?.yield(.notice(notice))
        for listener in listeners.values { listener.yield(notice) }
        news.yield(.notice(notice))
    }

    private func ask(_ token: Int64, _ method: String, _ params: String) {
        inputs[token] = Task.detached { [answer, weak self] in
            let outcome = await answer(method, params)
            await self?.answered(token, outcome)
        }
    }

    private func answered(_ token: Int64, _ outcome: String) {
        guard inputs.removeValue(forKey: token) != nil else { return }
        do {
            perform(try asking { try flat.answer(token: token, outcome: outcome, now: now()) })
        } catch {
            // The core takes no such outcome; the server must get an answer all the same.
            let failure = errorOutcome(code: -32603, message: words(error))
            feed { try flat.answer(token: token, outcome: failure, now: now()) }
        }
    }

    private func finish(_ error: any Error) {
        if over == nil {
            over = error is Disconnected ? error : Disconnected(words(error), code: (error as? any KeelError)?.code ?? "error")
        }
        deadline.stop()
        settleOpening(.failure(error))
        for handle in pending.keys { settle(handle, .failure(error)) }
        for input in inputs.values { input.cancel() }
        inputs = [:]
        for listener in listeners.values { listener.finish() }
        listeners = [:]
        for waiting in ending { waiting.resume() }
        ending = []
    }
}
