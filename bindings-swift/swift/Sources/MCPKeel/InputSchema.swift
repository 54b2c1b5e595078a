import Foundation

/// JSON Schemas of Swift types, found by watching how a type decodes itself: which members it asks for, of which types,
/// and which may be absent.
public enum InputSchema {
    /// The schema of a type with a synthesized `Decodable`: structs, optionals, arrays, dictionaries of text, and
    /// enums of text that are `CaseIterable`. Throws ``UsageError`` for types that look at values as they decode.
    public static func of(_ type: any Decodable.Type) throws -> JSON {
        try schema(of: type, depth: 0)
    }

    fileprivate static func schema(of type: any Decodable.Type, depth: Int) throws -> JSON {
        guard depth < 16 else { throw UsageError("\(type) holds itself; give its schema by hand") }
        if let simple = simple(type) { return simple }
        if let shaped = type as? any Shaped.Type { return try shaped.schema(depth: depth + 1) }
        if let cases = texts(type) { return ["type": "string", "enum": .array(cases)] }
        let found = Found()
        do {
            _ = try type.init(from: Watcher(found: found, depth: depth))
        } catch let error as UsageError {
            throw error
        } catch {
            throw UsageError("no schema can be found for \(type); give it by hand")
        }
        guard let members = found.members else { throw UsageError("no schema can be found for \(type); give it by hand") }
        var schema: JSON.Object = ["type": "object", "properties": .object(members)]
        if !found.required.isEmpty { schema["required"] = .array(found.required.map(JSON.string)) }
        return .object(schema)
    }

    private static func simple(_ type: any Decodable.Type) -> JSON? {
        switch type {
        case is String.Type: ["type": "string"]
        case is Bool.Type: ["type": "boolean"]
        case is any FixedWidthInteger.Type: type is any UnsignedInteger.Type ? ["type": "integer", "minimum": 0] : ["type": "integer"]
        case is Double.Type, is Float.Type, is Decimal.Type: ["type": "number"]
        case is Date.Type: ["type": "string", "format": "date-time"]
        case is URL.Type: ["type": "string", "format": "uri"]
        case is Data.Type: ["type": "string", "contentEncoding": "base64"]
        case is JSON.Type: [:]
        case is JSON.Object.Type: ["type": "object"]
        default: nil
        }
    }

    /// The values of an enum of text.
    private static func texts(_ type: any Decodable.Type) -> [JSON]? {
        guard let type = type as? any CaseIterable.Type else { return nil }
        return all(type)
    }

    private static func all<T: CaseIterable>(_ type: T.Type) -> [JSON]? {
        let values = type.allCases.compactMap { ($0 as? any RawRepresentable)?.rawValue as? String }
        return values.count == type.allCases.count ? values.map(JSON.string) : nil
    }
}

/// Types whose schema is made of that of others.
private protocol Shaped {
    static func schema(depth: Int) throws -> JSON
}

extension Optional: Shaped where Wrapped: Decodable {
    fileprivate static func schema(depth: Int) throws -> JSON { try InputSchema.schema(of: Wrapped.self, depth: depth) }
}

extension Array: Shaped where Element: Decodable {
    fileprivate static func schema(depth: Int) throws -> JSON {
        ["type": "array", "items": try InputSchema.schema(of: Element.self, depth: depth)]
    }
}

extension Dictionary: Shaped where Key == String, Value: Decodable {
    fileprivate static func schema(depth: Int) throws -> JSON {
        ["type": "object", "additionalProperties": try InputSchema.schema(of: Value.self, depth: depth)]
    }
}

/// What a type asked for.
private final class Found {
    var members: JSON.Object?
    var required: [String] = []
}

/// A decoder that has a value for everything, and remembers what was asked.
private struct Watcher: Decoder {
    let found: Found
    let depth: Int
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        if found.members == nil { found.members = [:] }
        return KeyedDecodingContainer(Watched<Key>(found: found, depth: depth))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Unknown() }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Unknown() }
}

private struct Unknown: Error {}

private struct Watched<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let found: Found
    let depth: Int
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    func contains(_ key: Key) -> Bool { true }
    func decodeNil(forKey key: Key) throws -> Bool { false }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        found.members?[key.stringValue] = try InputSchema.schema(of: type, depth: depth + 1)
        found.required.append(key.stringValue)
        return try sample(type)
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        found.members?[key.stringValue] = try InputSchema.schema(of: type, depth: depth + 1)
        return nil
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try optional(type, key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try optional(type, key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try optional(type, key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try optional(type, key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optional(type, key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try optional(type, key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try optional(type, key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try optional(type, key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try optional(type, key) }

    private func optional<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T? {
        found.members?[key.stringValue] = try InputSchema.schema(of: type, depth: depth + 1)
        return nil
    }

    /// Any value of a type: the watched type wants one, and is thrown away.
    private func sample<T: Decodable>(_ type: T.Type) throws -> T {
        if let value = try? JSON.string("").decode(as: type) { return value }
        if let value = try? JSON.integer(0).decode(as: type) { return value }
        for value: JSON in [false, [], [:], "1970-01-01T00:00:00Z", "http://localhost"] {
            if let value = try? value.decode(as: type) { return value }
        }
        if let type = type as? any CaseIterable.Type, let first = first(type) as? T { return first }
        return try type.init(from: Watcher(found: Found(), depth: depth + 1))
    }

    private func first<C: CaseIterable>(_ type: C.Type) -> Any? { type.allCases.first }

    func nestedContainer<Other: CodingKey>(keyedBy type: Other.Type, forKey key: Key) throws -> KeyedDecodingContainer<Other> {
        throw Unknown()
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw Unknown() }
    func superDecoder() throws -> any Decoder { throw Unknown() }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw Unknown() }
}
