import Foundation

/// `JSON` through coders that are not this package's: as exact as they allow.
func other(_ decoder: any Decoder) throws -> JSON {
    if let keyed = try? decoder.container(keyedBy: Name.self) {
        return .object(JSON.Object(try keyed.allKeys.map { ($0.stringValue, try keyed.decode(JSON.self, forKey: $0)) }))
    }
    if var list = try? decoder.unkeyedContainer() {
        var items: [JSON] = []
        while !list.isAtEnd { items.append(try list.decode(JSON.self)) }
        return .array(items)
    }
    let single = try decoder.singleValueContainer()
    if single.decodeNil() { return .null }
    if let value = try? single.decode(Bool.self) { return .bool(value) }
    if let value = try? single.decode(String.self) { return .string(value) }
    if let value = try? single.decode(Int64.self) { return .integer(value) }
    if let value = try? single.decode(Decimal.self) { return JSON(number: value) }
    return .double(try single.decode(Double.self))
}

func encodeExact(_ text: String, into container: inout any SingleValueEncodingContainer) throws {
    if let value = UInt64(text) {
        try container.encode(value)
    } else if let value = Decimal(string: text), JSON(number: value) == .exact(text) {
        try container.encode(value)
    } else {
        throw InvalidError("this encoder cannot write \(text) exactly")
    }
}

extension JSON {
    /// A decimal number, exactly.
    public init(number: Decimal) {
        self = JSON(literal: number.description)
    }

    /// A number as it is written.
    init(literal text: String) {
        self = (try? JSON(parsing: text)) ?? .null
    }

    /// The literal of a number.
    var literal: String? {
        switch self {
        case .integer, .double, .exact: description
        default: nil
        }
    }
}
