import Foundation

/// Reads Swift types from a value, numbers exactly or not at all.
struct ValueDecoder: Decoder {
    let value: JSON
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    static func decode<T: Decodable>(_ type: T.Type, from value: JSON) throws -> T {
        do {
            return try ValueDecoder(value: value, codingPath: []).read(type)
        } catch let error as DecodingError {
            throw InvalidError(words(error))
        }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let object) = value else { throw mismatch("an object") }
        return KeyedDecodingContainer(Members<Key>(object: object, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let items) = value else { throw mismatch("an array") }
        return Items(items: items, codingPath: codingPath)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func at(_ value: JSON, _ key: any CodingKey) -> ValueDecoder {
        ValueDecoder(value: value, codingPath: codingPath + [key])
    }

    func mismatch(_ wanted: String) -> DecodingError {
        let found = switch value {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .double, .exact: "the number \(value)"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
        return .dataCorrupted(.init(codingPath: codingPath, debugDescription: "\(wanted) is wanted, \(found) was found"))
    }

    /// Types that have a form of their own in JSON first.
    func read<T: Decodable>(_ type: T.Type) throws -> T {
        let special: Any? = switch type {
        case is JSON.Type: value
        case is Date.Type: try date()
        case is Data.Type: value.string.flatMap { Data(base64Encoded: $0) }
        case is URL.Type: value.string.flatMap { URL(string: $0) }
        case is Decimal.Type: value.literal.flatMap { exactDecimal($0) }
        default: try type.init(from: self)
        }
        guard let special else { throw mismatch("\(type)") }
        return special as! T
    }

    private func date() throws -> Date? {
        guard let text = value.string else { return nil }
        return ISO8601DateFormatter().date(from: text)
    }

    private func exactDecimal(_ text: String) -> Decimal? {
        guard let value = Decimal(string: text) else { return nil }
        return digits(value.description) == digits(text) ? value : nil
    }
}

/// The digits that make a literal's value, so that two ways to write it compare; the exponent is left out.
private func digits(_ literal: String) -> Substring {
    let mantissa = literal.prefix { $0 != "e" && $0 != "E" }.filter(\.isNumber)
    let start = mantissa.drop { $0 == "0" }
    guard let last = start.lastIndex(where: { $0 != "0" }) else { return "" }
    return start[...last]
}

extension ValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value == .null }
    func decode(_ type: Bool.Type) throws -> Bool { try value.bool ?? { throw mismatch("a boolean") }() }
    func decode(_ type: String.Type) throws -> String { try value.string ?? { throw mismatch("a string") }() }

    func decode(_ type: Double.Type) throws -> Double {
        switch value {
        case .double(let found): return found
        case .integer(let found):
            guard let exact = Double(exactly: found) else { throw mismatch("a number that Double holds exactly") }
            return exact
        case .exact(let text):
            let whole = !text.contains { ".eE".contains($0) }
            guard let found = Double(text), found.isFinite, !whole || found.description == text else {
                throw mismatch("a number that Double holds exactly")
            }
            return found
        default: throw mismatch("a number")
        }
    }

    func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
    func decode(_ type: Int.Type) throws -> Int { try whole() }
    func decode(_ type: Int8.Type) throws -> Int8 { try whole() }
    func decode(_ type: Int16.Type) throws -> Int16 { try whole() }
    func decode(_ type: Int32.Type) throws -> Int32 { try whole() }
    func decode(_ type: Int64.Type) throws -> Int64 { try whole() }
    func decode(_ type: UInt.Type) throws -> UInt { try whole() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try whole() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try whole() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try whole() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try whole() }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try read(type) }

    private func whole<T: FixedWidthInteger>() throws -> T {
        let found: T? = switch value {
        case .integer(let number): T(exactly: number)
        case .double(let number): T(exactly: number)
        case .exact(let text): T(text)
        default: nil
        }
        guard let found else { throw mismatch("an integer of \(T.bitWidth) bits (\(T.self))") }
        return found
    }
}

private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: JSON.Object
    let codingPath: [any CodingKey]
    private let index: [String: JSON]?

    init(object: JSON.Object, codingPath: [any CodingKey]) {
        self.object = object
        self.codingPath = codingPath
        index = object.count < 16 ? nil : Dictionary(object.map { ($0.name, $0.value) }) { first, _ in first }
    }

    var allKeys: [Key] { object.names.compactMap(Key.init(stringValue:)) }

    private func find(_ name: String) -> JSON? {
        if let index { index[name] } else { object[name] }
    }

    func contains(_ key: Key) -> Bool { find(key.stringValue) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try member(key).value == .null }

    private func member(_ key: Key) throws -> ValueDecoder {
        guard let value = find(key.stringValue) else {
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "`\(key.stringValue)` is missing"))
        }
        return ValueDecoder(value: value, codingPath: codingPath + [key])
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try member(key).read(type) }

    func nestedContainer<Other: CodingKey>(keyedBy type: Other.Type, forKey key: Key) throws -> KeyedDecodingContainer<Other> {
        try member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { try member(key).unkeyedContainer() }
    func superDecoder() throws -> any Decoder { ValueDecoder(value: find("super") ?? .null, codingPath: codingPath + [Name("super")]) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }
}

private struct Items: UnkeyedDecodingContainer {
    let items: [JSON]
    let codingPath: [any CodingKey]
    var currentIndex = 0
    var count: Int? { items.count }
    var isAtEnd: Bool { currentIndex >= items.count }

    init(items: [JSON], codingPath: [any CodingKey]) {
        self.items = items
        self.codingPath = codingPath
    }

    private func current() throws -> ValueDecoder {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(Any.self, .init(codingPath: codingPath, debugDescription: "the array has only \(items.count) items"))
        }
        return ValueDecoder(value: items[currentIndex], codingPath: codingPath + [Name(currentIndex)])
    }

    private mutating func take() throws -> ValueDecoder {
        defer { currentIndex += 1 }
        return try current()
    }

    mutating func decodeNil() throws -> Bool {
        guard try current().value == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try take().read(type) }

    mutating func nestedContainer<Other: CodingKey>(keyedBy type: Other.Type) throws -> KeyedDecodingContainer<Other> {
        try take().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try take().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder { try take() }
}

/// What a decoder did not like, and where.
private func words(_ error: DecodingError) -> String {
    let context = switch error {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context), .dataCorrupted(let context): context
    @unknown default: DecodingError.Context(codingPath: [], debugDescription: "\(error)")
    }
    let place = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
    return place.isEmpty ? context.debugDescription : "\(place.hasPrefix(".") ? String(place.dropFirst()) : place): \(context.debugDescription)"
}
