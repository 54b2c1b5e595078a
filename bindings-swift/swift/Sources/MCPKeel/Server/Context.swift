import Foundation

/// One running call, for its handler. When the client cancels the call or goes away, the task of the handler is cancelled;
/// nothing that it does afterwards is sent.
public final class Context: Sendable {
    private let serving: Serving
    /// The connection it came on, and the core's number for it.
    let stream: Int64
    let call: Int64
    /// What is called, such as "tools/call forecast".
    public let key: String
    private let state = Locked(State())

    private struct State {
        var over: (any Error)?
        var asked = 0
        var asks: [String: CheckedContinuation<JSON, any Error>] = [:]
    }

    init(serving: Serving, stream: Int64, call: Int64, key: String) {
        (self.serving, self.stream, self.call, self.key) = (serving, stream, call, key)
    }

    /// Who calls.
    public struct Info: Sendable {
        let json: JSON

        public var client: Implementation? { (json["client"]?.object).map(Implementation.init(json:)) }
        public var capabilities: JSON { json["capabilities"] ?? [:] }
        public var revision: String { json["revision"]?.string ?? "" }
        public var meta: JSON? { json["meta"] }
        /// Whether the client asked for progress.
        public var progress: Bool { json["progress"]?.bool ?? false }
        public var logLevel: LogLevel? { (json["logLevel"]?.string).flatMap(LogLevel.init) }
    }

    /// Who calls, with which capabilities. To be asked before the call has ended.
    public var info: Info {
        get async throws { Info(json: try JSON(parsing: try await serving.info(call))) }
    }

    /// Tells how far the call is; dropped when the client did not ask for it. Waits for a client that reads slowly, and
    /// throws `CancellationError` after the call was cancelled.
    public func progress(_ progress: Double, total: Double? = nil, message: String? = nil) async throws {
        try check()
        let told = object(("progress", .double(progress)), ("total", total.map(JSON.double)), ("message", message.json))
        try await serving.progress(self, JSON.object(told).description)
    }

    /// Sends a log message. Dropped and awaited like progress.
    public func log(_ level: LogLevel, _ data: some Encodable, logger: String? = nil) async throws {
        try check()
        let entry = object(("level", .string(level.rawValue)), ("logger", logger.json), ("data", try JSON(encoding: data)))
        try await serving.log(self, JSON.object(entry).description)
    }

    /// The user's answer to a form.
    public enum Elicited<Form: Sendable>: Sendable {
        case accepted(Form)
        case declined
        case cancelled
    }

    /// Asks the user to fill in a form whose fields are the members of a type.
    public func elicit<Form: Decodable & Sendable>(_ message: String, _ form: Form.Type) async throws -> Elicited<Form> {
        let answer = try await elicit(ElicitRequest(json: [
            "message": .string(message), "requestedSchema": try InputSchema.of(form),
        ]))
        return switch answer.action {
        case .accept: .accepted(try (answer.content ?? [:]).decode(as: form))
        case .decline: .declined
        case .cancel: .cancelled
        }
    }

    /// Asks the user to visit a page.
    public func elicit(_ message: String, url: String, id: String) async throws -> ElicitResult {
        try await elicit(ElicitRequest(json: [
            "mode": "url", "message": .string(message), "url": .string(url), "elicitationId": .string(id),
        ]))
    }

    /// Any elicitation by its wire names.
    public func elicit(_ request: ElicitRequest) async throws -> ElicitResult {
        ElicitResult(try await ask("elicitation/create", request.json))
    }

    /// Asks the client's model.
    public func sample(_ request: SampleRequest) async throws -> SampleResult {
        SampleResult(try await ask("sampling/createMessage", request.json))
    }

    /// Asks the client's model one thing.
    public func sample(_ text: String, maxTokens: Int = 1024) async throws -> SampleResult {
        try await sample(SampleRequest([.user(text)], maxTokens: maxTokens))
    }

    /// The folders that the client works in.
    public func roots() async throws -> [Root] {
        (try await ask("roots/list", [:])["roots"]?.array ?? []).map(Root.init)
    }

    /// Any request to the client inside this call. Throws ``PeerError`` when it refuses.
    public func ask(_ method: String, _ params: JSON.Object) async throws -> JSON {
        try check()
        let request = JSON.object(["method": .string(method), "params": .object(params)]).description
        // Numbered in the order of asking: a handler that is run again asks the same again.
        let key = state.with { state in
            state.asked += 1
            return String(state.asked)
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiting in
                let over = state.with { state in
                    if state.over == nil { state.asks[key] = waiting }
                    return state.over
                }
                if let over { return waiting.resume(throwing: over) }
                Task { await self.send(key, request) }
            }
        } onCancel: {
            settle(key, .failure(CancellationError()))
        }
    }

    private func send(_ key: String, _ request: String) async {
        do {
            try await serving.ask(call, key, request)
        } catch {
            settle(key, .failure(error))
        }
    }

    private func check() throws {
        if let over = state.with({ $0.over }) { throw over }
        try Task.checkCancellation()
    }

    private func settle(_ key: String, _ outcome: Result<JSON, any Error>) {
        state.with { $0.asks.removeValue(forKey: key) }?.resume(with: outcome)
    }

    func answered(_ key: String, _ text: String) {
        settle(key, Result {
            let outcome = try JSON(parsing: text)
            if let error = outcome["error"] { throw PeerError(error) }
            return outcome["result"] ?? .null
        })
    }

    func cancel(_ reason: String) {
        end(CancellationError())
    }

    func finish() {
        end(UsageError("this call has ended"))
    }

    private func end(_ error: any Error) {
        let waiting = state.with { state in
            if state.over == nil { state.over = error }
            defer { state.asks = [:] }
            return state.asks.values
        }
        for one in waiting { one.resume(throwing: error) }
    }
}
