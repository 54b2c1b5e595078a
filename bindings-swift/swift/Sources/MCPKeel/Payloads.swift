import Foundation

/// A payload as it is on the wire. Members that a newer revision adds are kept although no property names them.
public protocol Payload: Sendable, Hashable, Codable {
    var json: JSON.Object { get set }
    init(json: JSON.Object)
}

extension Payload {
    init(_ json: JSON?) {
        self.init(json: json?.object ?? [:])
    }

    /// A text member.
    func text(_ name: String) -> String? { json[name]?.string }

    public init(from decoder: any Decoder) throws {
        let value = try JSON(from: decoder)
        guard let object = value.object else { throw InvalidError("an object is wanted, \(value) was found") }
        self.init(json: object)
    }

    public func encode(to encoder: any Encoder) throws {
        try JSON.object(json).encode(to: encoder)
    }
}

/// Builds an object of the members that are there.
func object(_ members: (String, JSON?)...) -> JSON.Object {
    JSON.Object(members.compactMap { name, value in value.map { (name, $0) } })
}

extension Optional where Wrapped == String {
    var json: JSON? { map(JSON.string) }
}

/// Who a client or server is.
public struct Implementation: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public init(name: String, version: String, title: String? = nil) {
        json = object(("name", .string(name)), ("version", .string(version)), ("title", title.json))
    }

    public var name: String { text("name") ?? "" }
    public var version: String { text("version") ?? "" }
    public var title: String? { text("title") }
}

public struct Tool: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public var name: String { text("name") ?? "" }
    public var title: String? { text("title") }
    public var description: String? { text("description") }
    public var inputSchema: JSON { json["inputSchema"] ?? [:] }
    public var outputSchema: JSON? { json["outputSchema"] }
    /// Hints such as `readOnlyHint`; no promises.
    public var annotations: JSON? { json["annotations"] }
}

public struct Resource: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public var uri: String { text("uri") ?? "" }
    public var name: String { text("name") ?? "" }
    public var title: String? { text("title") }
    public var description: String? { text("description") }
    public var mimeType: String? { text("mimeType") }
}

public struct ResourceTemplate: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public var uriTemplate: String { text("uriTemplate") ?? "" }
    public var name: String { text("name") ?? "" }
    public var title: String? { text("title") }
    public var description: String? { text("description") }
    public var mimeType: String? { text("mimeType") }
}

public struct Prompt: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public struct Argument: Payload {
        public var json: JSON.Object
        public init(json: JSON.Object) { self.json = json }

        public init(_ name: String, description: String? = nil, required: Bool = false) {
            json = object(("name", .string(name)), ("description", description.json), ("required", .bool(required)))
        }

        public var name: String { text("name") ?? "" }
        public var description: String? { text("description") }
        public var required: Bool { json["required"]?.bool ?? false }
    }

    public var name: String { text("name") ?? "" }
    public var title: String? { text("title") }
    public var description: String? { text("description") }
    public var arguments: [Argument] { (json["arguments"]?.array ?? []).map(Argument.init) }
}

/// What a resource holds: a text or bytes.
public struct ResourceContents: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public init(uri: String, text: String, mimeType: String? = nil) {
        json = object(("uri", .string(uri)), ("mimeType", mimeType.json), ("text", .string(text)))
    }

    public init(uri: String, bytes: Data, mimeType: String? = nil) {
        json = object(("uri", .string(uri)), ("mimeType", mimeType.json), ("blob", .string(bytes.base64EncodedString())))
    }

    public var uri: String { text("uri") ?? "" }
    public var mimeType: String? { text("mimeType") }
    public var text: String? { text("text") }
    public var bytes: Data? { text("blob").flatMap { Data(base64Encoded: $0) } }
}

/// One block of what a tool or prompt says.
public struct Content: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public static func text(_ text: String) -> Content {
        Content(json: ["type": "text", "text": .string(text)])
    }

    public static func image(_ bytes: Data, mimeType: String) -> Content {
        Content(json: ["type": "image", "data": .string(bytes.base64EncodedString()), "mimeType": .string(mimeType)])
    }

    public static func audio(_ bytes: Data, mimeType: String) -> Content {
        Content(json: ["type": "audio", "data": .string(bytes.base64EncodedString()), "mimeType": .string(mimeType)])
    }

    public static func resource(_ contents: ResourceContents) -> Content {
        Content(json: ["type": "resource", "resource": .object(contents.json)])
    }

    public static func link(uri: String, name: String) -> Content {
        Content(json: ["type": "resource_link", "uri": .string(uri), "name": .string(name)])
    }

    /// "text", "image", "audio", "resource" or "resource_link".
    public var type: String { text("type") ?? "" }
    public var text: String? { text("text") }
    /// The bytes of an image or of audio.
    public var bytes: Data? { text("data").flatMap { Data(base64Encoded: $0) } }
    public var mimeType: String? { text("mimeType") }
    public var resource: ResourceContents? { json["resource"].map(ResourceContents.init) }
}

/// What a tool call gave. A tool handler may return one as well.
public struct ToolResult: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public init(_ content: [Content], structured: JSON? = nil, isError: Bool = false) {
        json = ["content": .array(content.map { .object($0.json) })]
        json["structuredContent"] = structured
        if isError { json["isError"] = true }
    }

    public var content: [Content] { (json["content"]?.array ?? []).map(Content.init) }
    public var structured: JSON? { json["structuredContent"] }
    /// Whether the tool failed; `text` says how.
    public var isError: Bool { json["isError"]?.bool ?? false }
    public var meta: JSON? { json["_meta"] }
    /// All text blocks, one after the other.
    public var text: String { content.compactMap { $0.type == "text" ? $0.text : nil }.joined(separator: "\n") }

    /// The structured content as a type of yours; for tools without it, the text read as JSON.
    public func decode<T: Decodable>(as type: T.Type = T.self) throws -> T {
        try (structured ?? JSON(parsing: text)).decode(as: type)
    }
}

public struct PromptMessage: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public static func user(_ content: Content) -> PromptMessage { PromptMessage("user", content) }
    public static func user(_ text: String) -> PromptMessage { PromptMessage("user", .text(text)) }
    public static func assistant(_ content: Content) -> PromptMessage { PromptMessage("assistant", content) }
    public static func assistant(_ text: String) -> PromptMessage { PromptMessage("assistant", .text(text)) }

    private init(_ role: String, _ content: Content) {
        json = ["role": .string(role), "content": .object(content.json)]
    }

    public var role: String { text("role") ?? "" }
    public var content: Content { Content(json["content"]) }
}

public struct PromptResult: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public init(_ messages: [PromptMessage], description: String? = nil) {
        json = object(("description", description.json), ("messages", .array(messages.map { .object($0.json) })))
    }

    public var description: String? { text("description") }
    public var messages: [PromptMessage] { (json["messages"]?.array ?? []).map(PromptMessage.init) }
}

/// What a completion is for: an argument of a prompt, or a variable of a resource template.
public enum CompletionReference: Sendable, Hashable {
    case prompt(String)
    case resource(String)

    var json: JSON {
        switch self {
        case .prompt(let name): ["type": "ref/prompt", "name": .string(name)]
        case .resource(let uri): ["type": "ref/resource", "uri": .string(uri)]
        }
    }
}

public struct CompletionRequest: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public var reference: CompletionReference {
        let ref = json["ref"]
        return ref?["type"]?.string == "ref/prompt" ? .prompt(ref?["name"]?.string ?? "") : .resource(ref?["uri"]?.string ?? "")
    }

    public var argument: String { json["argument"]?["name"]?.string ?? "" }
    /// What was typed so far.
    public var value: String { json["argument"]?["value"]?.string ?? "" }
    /// The arguments that are known already.
    public var known: JSON.Object { json["context"]?["arguments"]?.object ?? [:] }
}

public struct Completion: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public init(_ values: [String], total: Int? = nil, hasMore: Bool? = nil) {
        json = object(
            ("values", .array(values.map(JSON.string))), ("total", total.map { .integer(Int64($0)) }), ("hasMore", hasMore.map(JSON.bool)))
    }

    public var values: [String] { (json["values"]?.array ?? []).compactMap(\.string) }
    public var total: Int? { json["total"]?.int }
    public var hasMore: Bool { json["hasMore"]?.bool ?? false }
}

/// A folder that a client works in.
public struct Root: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public init(uri: String, name: String? = nil) {
        json = object(("uri", .string(uri)), ("name", name.json))
    }

    public var uri: String { text("uri") ?? "" }
    public var name: String? { text("name") }
}

/// A form to fill in, or a page to visit.
public struct ElicitRequest: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public var message: String { text("message") ?? "" }
    /// The form, as a schema; nil for a page.
    public var schema: JSON? { json["requestedSchema"] }
    public var url: String? { text("url") }
}

public struct ElicitResult: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    /// The form was filled in with this.
    public static func accept(_ content: some Encodable) throws -> ElicitResult {
        ElicitResult(json: ["action": "accept", "content": try JSON(encoding: content)])
    }

    /// The page was agreed to.
    public static let accept = ElicitResult(json: ["action": "accept"])

    public static let decline = ElicitResult(json: ["action": "decline"])
    public static let cancel = ElicitResult(json: ["action": "cancel"])

    public enum Action: String, Sendable { case accept, decline, cancel }

    public var action: Action { text("action").flatMap(Action.init) ?? .cancel }
    /// What was filled in; there when accepted.
    public var content: JSON? { json["content"] }
}

extension JSON.Object: Codable {
    public init(from decoder: any Decoder) throws {
        guard let object = try JSON(from: decoder).object else { throw InvalidError("an object is wanted") }
        self = object
    }

    public func encode(to encoder: any Encoder) throws {
        try JSON.object(self).encode(to: encoder)
    }
}

/// A question to the client's model.
public struct SampleRequest: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public init(_ messages: [PromptMessage], maxTokens: Int = 1024, system: String? = nil) {
        json = object(
            ("messages", .array(messages.map { .object($0.json) })), ("maxTokens", .integer(Int64(maxTokens))), ("systemPrompt", system.json))
    }

    public var messages: [PromptMessage] { (json["messages"]?.array ?? []).map(PromptMessage.init) }
    public var maxTokens: Int { json["maxTokens"]?.int ?? 0 }
    public var system: String? { text("systemPrompt") }
}

public struct SampleResult: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public init(_ text: String, model: String) {
        json = ["role": "assistant", "content": ["type": "text", "text": .string(text)], "model": .string(model)]
    }

    public var text: String { json["content"]?["text"]?.string ?? "" }
    public var model: String { text("model") ?? "" }
}

public enum LogLevel: String, Sendable, Codable, CaseIterable {
    case debug, info, notice, warning, error, critical, alert, emergency
}

public struct Progress: Payload {
    public var json: JSON.Object
    public init(json: JSON.Object) { self.json = json }

    public var progress: Double { json["progress"]?.double ?? 0 }
    public var total: Double? { json["total"]?.double }
    public var message: String? { text("message") }
}

/// A notification of the other side.
public struct Notice: Sendable, Hashable {
    public let method: String
    public let params: JSON
}

/// Which changes a client wants to hear of.
public struct ListenFilter: Sendable {
    public var tools: Bool
    public var prompts: Bool
    public var resources: Bool
    /// Uris of resources whose contents are watched.
    public var updates: [String]

    public init(tools: Bool = false, prompts: Bool = false, resources: Bool = false, updates: [String] = []) {
        (self.tools, self.prompts, self.resources, self.updates) = (tools, prompts, resources, updates)
    }

    var json: JSON {
        .object(
            object(
                ("toolsListChanged", tools ? true : nil), ("promptsListChanged", prompts ? true : nil),
                ("resourcesListChanged", resources ? true : nil),
                ("resourceSubscriptions", updates.isEmpty ? nil : .array(updates.map(JSON.string)))))
    }
}
