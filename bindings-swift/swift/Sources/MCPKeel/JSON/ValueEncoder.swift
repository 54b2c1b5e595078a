import Foundation

/// Writes Swift types as values, numbers exactly.
struct ValueEncoder: Encoder {
    let slot: Slot
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Where a value goes: set at once, or member by member.
    final class Slot {
        var value: JSON?
        var members: [(String, Slot)]?
        var items: [Slot]?

        var whole: JSON {
            if let members { return .object(JSON.Object(members.map { ($0, $1.whole) })) }
            if let items { return .array(items.map(\.whole)) }
            return value ?? .object([:])
        }
    }

    static func encode(_ value: some Encodable) throws -> JSON {
        let slot = Slot()
        try ValueEncoder(slot: slot, codingPath: []).put(value)
        return slot.whole
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if slot.members == nil { slot.members = [] }
        return KeyedEncodingContainer(Members<Key>(slot: slot, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if slot.items == nil { slot.items = [] }
        return Items(slot: slot, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func put<T: Encodable>(_ value: T) throws {
        switch value {
        case let value as JSON: slot.value = value
        case let value as Date: slot.value = .string(ISO8601DateFormatter().string(from: value))
        case let value as Data: slot.value = .string(value.base64EncodedString())
        case let value as URL: slot.value = .string(value.absoluteString)
        case let value as Decimal where value.isFinite: slot.value = JSON(number: value)
        default: try value.encode(to: self)
        }
    }
}

extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() { slot.value = .null }
    func encode(_ value: Bool) { slot.value = .bool(value) }
    func encode(_ value: String) { slot.value = .string(value) }

    func encode(_ value: Double) throws {
        guard value.isFinite else {
            throw EncodingError.invalidValue(value, .init(codingPath: codingPath, debugDescription: "JSON has no \(value)"))
        }
        slot.value = .double(value)
    }

    /// By its own shortest digits: as a double 0.1 would get seventeen.
    func encode(_ value: Float) throws {
        guard value.isFinite else { return try encode(Double(value)) }
        slot.value = JSON(literal: value.description)
    }

    func encode(_ value: Int) { whole(value) }
    func encode(_ value: Int8) { whole(value) }
    func encode(_ value: Int16) { whole(value) }
    func encode(_ value: Int32) { whole(value) }
    func encode(_ value: Int64) { whole(value) }
    func encode(_ value: UInt) { whole(value) }
    func encode(_ value: UInt8) { whole(value) }
    func encode(_ value: UInt16) { whole(value) }
    func encode(_ value: UInt32) { whole(value) }
    func encode(_ value: UInt64) { whole(value) }
    func encode<T: Encodable>(_ value: T) throws { try put(value) }

    private func whole(_ value: some FixedWidthInteger) {
        slot.value = Int64(exactly: value).map(JSON.integer) ?? .exact(String(value))
    }
}

private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let slot: ValueEncoder.Slot
    let codingPath: [any CodingKey]

    private func member(_ key: any CodingKey) -> ValueEncoder {
        let member = ValueEncoder.Slot()
        slot.members?.append((key.stringValue, member))
        return ValueEncoder(slot: member, codingPath: codingPath + [key])
    }

    func encodeNil(forKey key: Key) { member(key).encodeNil() }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try member(key).put(value) }

    func nestedContainer<Other: CodingKey>(keyedBy type: Other.Type, forKey key: Key) -> KeyedEncodingContainer<Other> {
        member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { member(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { member(Name("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { member(key) }
}

private struct Items: UnkeyedEncodingContainer {
    let slot: ValueEncoder.Slot
    let codingPath: [any CodingKey]
    var count: Int { slot.items?.count ?? 0 }

    private func item() -> ValueEncoder {
        let item = ValueEncoder.Slot()
        defer { slot.items?.append(item) }
        return ValueEncoder(slot: item, codingPath: codingPath + [Name(count)])
    }

    func encodeNil() { item().encodeNil() }
    func encode<T: Encodable>(_ value: T) throws { try item().put(value) }

    func nestedContainer<Other: CodingKey>(keyedBy type: Other.Type) -> KeyedEncodingContainer<Other> {
        item().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { item().unkeyedContainer() }
    func superEncoder() -> any Encoder { item() }
}
