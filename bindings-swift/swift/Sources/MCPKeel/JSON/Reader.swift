/// Reads JSON text. One pass, bounded depth; what it meets was sent by others.
struct Reader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var at = 0
    private var depth = 0

    private static let deepest = 512

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    static func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws -> JSON {
        var reader = Reader(bytes)
        let value = try reader.value()
        reader.space()
        guard reader.at == bytes.count else { throw reader.wrong("something follows the value") }
        return value
    }

    private func wrong(_ what: String) -> InvalidError {
        InvalidError("no JSON: \(what) at byte \(at)", code: "invalid_json")
    }

    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func space() {
        while at < bytes.count, bytes[at] == 0x20 || bytes[at] == 0x0a || bytes[at] == 0x0d || bytes[at] == 0x09 { at += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        at += 1
        return true
    }

    private mutating func value() throws -> JSON {
        space()
        switch next {
        case UInt8(ascii: "{"): return try nested { try $0.object() }
        case UInt8(ascii: "["): return try nested { try $0.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func nested(_ read: (inout Reader) throws -> JSON) throws -> JSON {
        guard depth < Reader.deepest else { throw wrong("too deep") }
        depth += 1
        at += 1
        defer { depth -= 1 }
        return try read(&self)
    }

    private mutating func word(_ text: StaticString, _ value: JSON) throws -> JSON {
        let end = at + text.utf8CodeUnitCount
        guard end <= bytes.count else { throw wrong("an unknown word") }
        for offset in 0..<text.utf8CodeUnitCount where bytes[at + offset] != text.utf8Start[offset] { throw wrong("an unknown word") }
        at = end
        return value
    }

    private mutating func array() throws -> JSON {
        var items: [JSON] = []
        space()
        if take(UInt8(ascii: "]")) { return .array(items) }
        repeat {
            items.append(try value())
            space()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw wrong("an array without end") }
        return .array(items)
    }

    private mutating func object() throws -> JSON {
        var object = JSON.Object()
        var names = Set<[UInt8]>()
        space()
        if take(UInt8(ascii: "}")) { return .object(object) }
        repeat {
            space()
            guard next == UInt8(ascii: "\"") else { throw wrong("a member without name") }
            let name = try string()
            space()
            guard take(UInt8(ascii: ":")) else { throw wrong("a name without value") }
            guard try isNew(name, in: object, &names) else { throw wrong("a member that is there twice") }
            object.append(name, try value())
            space()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw wrong("an object without end") }
        return .object(object)
    }

    /// Few members are compared one by one, many through a set.
    private func isNew(_ name: String, in object: JSON.Object, _ names: inout Set<[UInt8]>) throws -> Bool {
        if object.count < 8 { return object[name] == nil }
        if names.isEmpty { for (name, _) in object { names.insert(Array(name.utf8)) } }
        return names.insert(Array(name.utf8)).inserted
    }

    private mutating func string() throws -> String {
        at += 1
        let start = at
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: "\""):
                let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<at]), as: UTF8.self)
                at += 1
                return text
            case UInt8(ascii: "\\"): return try escaped(from: start)
            case 0..<0x20: throw wrong("a control character in a string")
            default: at += 1
            }
        }
        throw wrong("a string without end")
    }

    /// The rest of a string, from its first escape on.
    private mutating func escaped(from start: Int) throws -> String {
        var text = Array(bytes[start..<at])
        while at < bytes.count {
            let byte = bytes[at]
            at += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): try escape(&text)
            case 0..<0x20: throw wrong("a control character in a string")
            default: text.append(byte)
            }
        }
        throw wrong("a string without end")
    }

    private mutating func escape(_ text: inout [UInt8]) throws {
        guard let byte = next else { throw wrong("a string without end") }
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: try scalar().utf8)
        default: throw wrong("an unknown escape")
        }
    }

    private mutating func scalar() throws -> Character {
        let high = try hex()
        guard high & 0xf800 == 0xd800 else { return Character(Unicode.Scalar(high)!) }
        guard high < 0xdc00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw wrong("half a surrogate pair") }
        let low = UInt32(try hex())
        guard low & 0xfc00 == 0xdc00 else { throw wrong("half a surrogate pair") }
        return Character(Unicode.Scalar(0x10000 + (UInt32(high) & 0x3ff) << 10 + low & 0x3ff)!)
    }

    private mutating func hex() throws -> UInt16 {
        guard at + 4 <= bytes.count else { throw wrong("a short escape") }
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(bytes[at])).hexDigitValue, bytes[at] < 0x80 else { throw wrong("a bad escape") }
            value = value << 4 | UInt16(digit)
            at += 1
        }
        return value
    }

    private mutating func digits() -> Int {
        let start = at
        while at < bytes.count, bytes[at] >= 0x30, bytes[at] <= 0x39 { at += 1 }
        return at - start
    }

    private mutating func number() throws -> JSON {
        let start = at
        _ = take(UInt8(ascii: "-"))
        let zero = next == 0x30
        var count = digits()
        guard count > 0, count == 1 || !zero else { throw wrong("no value") }
        var whole = true
        if take(UInt8(ascii: ".")) {
            let more = digits()
            guard more > 0 else { throw wrong("a bad number") }
            count += more
            whole = false
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard digits() > 0 else { throw wrong("a bad number") }
            whole = false
        }
        let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<at]), as: UTF8.self)
        if whole, text != "-0" {
            return Int64(text).map(JSON.integer) ?? .exact(text)
        }
        // A double tells any fifteen digits apart.
        if count <= 15, let value = Double(text), value.isFinite, value.isNormal || value == 0 && !text.contains(where: nonzero) {
            return .double(value)
        }
        if text == "-0" { return .double(-0.0) }
        return .exact(text)
    }
}

private func nonzero(_ digit: Character) -> Bool {
    digit >= "1" && digit <= "9"
}

/// Writes JSON text.
func write(_ value: JSON, to text: inout String) {
    switch value {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .integer(let value): text += String(value)
    case .double(let value): text += literal(value)
    case .exact(let number): text += number
    case .string(let value): quote(value, to: &text)
    case .array(let items):
        text += "["
        var first = true
        for item in items {
            if !first { text += "," }
            first = false
            write(item, to: &text)
        }
        text += "]"
    case .object(let object):
        text += "{"
        var first = true
        for (name, member) in object {
            if !first { text += "," }
            first = false
            quote(name, to: &text)
            text += ":"
            write(member, to: &text)
        }
        text += "}"
    }
}

/// Whole numbers are written without a fraction: peers read them as integers. What JSON cannot say is null.
private func literal(_ value: Double) -> String {
    guard value.isFinite else { return "null" }
    if value == 0, value.sign == .minus { return "-0.0" }
    if let whole = Int64(exactly: value), abs(whole) < 1 << 53 { return String(whole) }
    return value.description
}

/// Writes a string with its quotes.
func quote(_ value: String, to text: inout String) {
    var value = value
    text += "\""
    value.withUTF8 { bytes in
        var start = 0
        func flush(_ end: Int) {
            if start < end { text += String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<end]), as: UTF8.self) }
        }
        for (at, byte) in bytes.enumerated() where byte < 0x20 || byte == 0x22 || byte == 0x5c {
            flush(at)
            start = at + 1
            switch byte {
            case 0x22: text += "\\\""
            case 0x5c: text += "\\\\"
            case 0x0a: text += "\\n"
            case 0x0d: text += "\\r"
            case 0x09: text += "\\t"
            default: text += byte < 0x10 ? "\\u000\(String(byte, radix: 16))" : "\\u00\(String(byte, radix: 16))"
            }
        }
        flush(bytes.count)
    }
    text += "\""
}
