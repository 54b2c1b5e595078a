/// A JSON value that loses nothing: numbers keep their exact value, objects the order of their members.
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    /// A number without fraction or exponent, when it fits.
    case integer(Int64)
    /// A number with a fraction or an exponent that a `Double` holds to its last digit.
    case double(Double)
    /// Any other number, as it is written: larger integers, longer fractions.
    case exact(String)
    case string(String)
    case array([JSON])
    case object(Object)

    /// Reads a JSON text. Throws ``InvalidError`` for what is no JSON, or is nested more than 512 deep.
    public init(parsing text: String) throws {
        var text = text
        self = try text.withUTF8 { try Reader.parse($0) }
    }

    /// Any value that has JSON. Throws when it has none, such as a number that is not finite.
    public init(encoding value: some Encodable) throws {
        self = try ValueEncoder.encode(value)
    }

    /// This value as a type of yours. Throws ``InvalidError`` that names the place where they differ.
    public func decode<T: Decodable>(as type: T.Type = T.self) throws -> T {
        try ValueDecoder.decode(type, from: self)
    }

    /// The member of an object, nil where there is none.
    public subscript(name: String) -> JSON? {
        if case .object(let object) = self { object[name] } else { nil }
    }

    /// The item of an array, nil where there is none.
    public subscript(index: Int) -> JSON? {
        if case .array(let items) = self, items.indices.contains(index) { items[index] } else { nil }
    }

    public var isNull: Bool { self == .null }

    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The number, if it is whole and fits.
    public var int: Int? {
        switch self {
        case .integer(let value): Int(exactly: value)
        case .double(let value): Int(exactly: value)
        default: nil
        }
    }

    /// The number as the nearest `Double`.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        case .exact(let text): Double(text)
        default: nil
        }
    }

    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    public var array: [JSON]? {
        if case .array(let items) = self { items } else { nil }
    }

    public var object: Object? {
        if case .object(let object) = self { object } else { nil }
    }

    /// The members of a JSON object in their order. Names are compared code by code, not as Swift compares strings.
    public struct Object: Sendable {
        private var members: [(name: String, value: JSON)] = []

        public init() {}

        /// A later member of the same name replaces an earlier one.
        public init(_ members: some Sequence<(String, JSON)>) {
            for (name, value) in members { self[name] = value }
        }

        public var isEmpty: Bool { members.isEmpty }
        public var count: Int { members.count }
        public var names: [String] { members.map(\.name) }

        public subscript(name: String) -> JSON? {
            get { place(of: name).map { members[$0].value } }
            set {
                switch (place(of: name), newValue) {
                case (let place?, let value?): members[place].value = value
                case (let place?, nil): members.remove(at: place)
                case (nil, let value?): members.append((name, value))
                case (nil, nil): break
                }
            }
        }

        private func place(of name: String) -> Int? {
            members.firstIndex { same($0.name, name) }
        }

        /// For the reader, which has refused names that are there twice.
        mutating func append(_ name: String, _ value: JSON) {
            members.append((name, value))
        }
    }
}

/// To Swift a letter and its accent equal the accented letter; to JSON they are other names.
private func same(_ one: String, _ other: String) -> Bool {
    one.utf8.count == other.utf8.count && one.utf8.elementsEqual(other.utf8)
}

extension JSON.Object: Sequence {
    public func makeIterator() -> IndexingIterator<[(name: String, value: JSON)]> { members.makeIterator() }
}

extension JSON.Object: Hashable {
    /// The order of members makes no difference.
    public static func == (one: Self, other: Self) -> Bool {
        one.count == other.count && one.allSatisfy { other[$0.name] == $0.value }
    }

    public func hash(into hasher: inout Hasher) {
        var mixed = 0
        for (name, value) in self {
            var each = Hasher()
            each.combine(name)
            each.combine(value)
            mixed ^= each.finalize()
        }
        hasher.combine(mixed)
    }
}

extension JSON.Object: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral members: (String, JSON)...) {
        self.init(members)
    }
}

extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
}

extension JSON: ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral items: JSON...) { self = .array(items) }
    public init(dictionaryLiteral members: (String, JSON)...) { self = .object(Object(members)) }
}

extension JSON: CustomStringConvertible {
    /// The JSON text, without spaces.
    public var description: String {
        var text = ""
        write(self, to: &text)
        return text
    }
}

extension JSON: Codable {
    public init(from decoder: any Decoder) throws {
        if let own = decoder as? ValueDecoder {
            self = own.value
            return
        }
        self = try other(decoder)
    }

    public func encode(to encoder: any Encoder) throws {
        if let own = encoder as? ValueEncoder {
            own.slot.value = self
            return
        }
        switch self {
        case .array(let items): try items.encode(to: encoder)
        case .object(let object):
            var container = encoder.container(keyedBy: Name.self)
            for (name, value) in object { try container.encode(value, forKey: Name(name)) }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .bool(let value): try container.encode(value)
            case .integer(let value): try container.encode(value)
            case .double(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            case .exact(let text): try encodeExact(text, into: &container)
            default: try container.encodeNil()
            }
        }
    }
}

/// A name of a member as other coders want it.
struct Name: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ name: String) { (stringValue, intValue) = (name, nil) }
    init(_ index: Int) { (stringValue, intValue) = ("\(index)", index) }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { self.init(intValue) }
}
