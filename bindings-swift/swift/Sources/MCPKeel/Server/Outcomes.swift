import Foundation

/// The outcome that the core takes for a result.
func outcome(_ result: JSON) -> String {
    JSON.object(["result": result]).description
}

func errorOutcome(code: Int, message: String) -> String {
    JSON.object(["error": ["code": .integer(Int64(code)), "message": .string(message)]]).description
}

/// The outcome for what a handler threw: a PeerError as it is, anything else under `code`.
func errorOutcome(_ error: any Error, code: Int) -> String {
    guard let peer = error as? PeerError else { return errorOutcome(code: code, message: words(error)) }
    return JSON.object(["error": peer.wire]).description
}

/// For prompts, resources and completions: what does not fit is the client's fault, the rest is ours.
func failureOutcome(_ error: any Error) -> String {
    errorOutcome(error, code: error is InvalidError ? -32602 : -32603)
}

/// A failed tool is a result that the model can read; only a PeerError is a protocol error.
func toolFailure(_ error: any Error) -> String {
    if error is PeerError { return errorOutcome(error, code: -32603) }
    return outcome(.object(ToolResult([.text(words(error))], isError: true).json))
}

/// The result for what a tool's handler returned: a text, content, a whole result; structured content when it is another
/// object, and the same as text for clients that read only that.
func toolResult(_ value: any Encodable) throws -> JSON {
    switch value {
    case let result as ToolResult: return .object(result.json)
    case let text as String: return .object(ToolResult([.text(text)]).json)
    case let content as Content: return .object(ToolResult([content]).json)
    case let contents as [Content]: return .object(ToolResult(contents).json)
    default: break
    }
    let value = try JSON(encoding: value)
    let text = Content.text(value.description)
    return .object(ToolResult([text], structured: value.object == nil ? nil : value).json)
}

/// What a resource's handler may return: a `String`, `Data`, ``ResourceContents`` or several of them.
public protocol ResourceOutput: Sendable {
    func contents(uri: String, mimeType: String?) -> [ResourceContents]
}

extension String: ResourceOutput {
    public func contents(uri: String, mimeType: String?) -> [ResourceContents] {
        [ResourceContents(uri: uri, text: self, mimeType: mimeType)]
    }
}

extension Data: ResourceOutput {
    public func contents(uri: String, mimeType: String?) -> [ResourceContents] {
        [ResourceContents(uri: uri, bytes: self, mimeType: mimeType)]
    }
}

extension ResourceContents: ResourceOutput {
    public func contents(uri: String, mimeType: String?) -> [ResourceContents] { [self] }
}

extension [ResourceContents]: ResourceOutput {
    public func contents(uri: String, mimeType: String?) -> [ResourceContents] { self }
}

/// What a prompt's handler may return: a `String` (one user message), messages, or a ``PromptResult``.
public protocol PromptOutput: Sendable {
    var promptResult: PromptResult { get }
}

extension String: PromptOutput {
    public var promptResult: PromptResult { PromptResult([.user(self)]) }
}

extension PromptMessage: PromptOutput {
    public var promptResult: PromptResult { PromptResult([self]) }
}

extension [PromptMessage]: PromptOutput {
    public var promptResult: PromptResult { PromptResult(self) }
}

extension PromptResult: PromptOutput {
    public var promptResult: PromptResult { self }
}
