import Foundation
import Testing

@testable import MCPKeel

/// What a body throws, as a value to compare.
func thrown(_ body: () throws -> Void) -> (any Error)? {
    do {
        try body()
        return nil
    } catch {
        return error
    }
}

@Suite struct JSONTests {
    @Test(arguments: [
        "0", "-1", "9007199254740993", "-9223372036854775808", "18446744073709551615", "123456789012345678901234567890",
        "0.1", "1.5e+300", "12345678901234567.25", "1e400", "3.141592653589793238",
    ])
    func numbersKeepTheirValue(literal: String) throws {
        let value = try JSON(parsing: "[\(literal)]")
        #expect(value.description == "[\(literal)]")
    }

    @Test func numbersBecomeTypesExactlyOrNotAtAll() throws {
        let big = try JSON(parsing: "9007199254740993")
        #expect(try big.decode(as: Int64.self) == 9_007_199_254_740_993)
        #expect(thrown { _ = try big.decode(as: Double.self) } is InvalidError)
        #expect(thrown { _ = try big.decode(as: Int32.self) } is InvalidError)
        #expect(try JSON(parsing: "18446744073709551615").decode(as: UInt64.self) == .max)
        #expect(thrown { _ = try JSON(parsing: "18446744073709551616").decode(as: UInt64.self) } is InvalidError)
        #expect(try JSON(parsing: "2.0").decode(as: Int.self) == 2)
        #expect(thrown { _ = try JSON(parsing: "2.5").decode(as: Int.self) } is InvalidError)
        let decimal = "12345678901234567890.25"
        #expect(try JSON(parsing: decimal).decode(as: Decimal.self) == Decimal(string: decimal))
        let longest = String(repeating: "1", count: 60)
        #expect(thrown { _ = try JSON(parsing: longest).decode(as: Decimal.self) } is InvalidError)
    }

    @Test func valuesOfSwiftAreWrittenExactly() throws {
        struct All: Encodable {
            let large = UInt64.max
            let small = Int64.min
            let tenth: Float = 0.1
            let whole = 5.0
            let price = Decimal(string: "12345678901234567890.25")!
            let bytes = Data([1, 2])
            let none: Int? = nil
            let many = [1, 2]
        }
        let text = try JSON(encoding: All()).description
        #expect(
            text == #"{"large":18446744073709551615,"small":-9223372036854775808,"tenth":0.1,"whole":5,"#
                + #""price":12345678901234567890.25,"bytes":"AQI=","many":[1,2]}"#)
        #expect(thrown { _ = try JSON(encoding: Double.nan) } != nil)
    }

    @Test func stringsComeBack() throws {
        let text = "grüß 🦀 \0\n\"\\ \u{7f} e\u{301} é"
        let written = JSON.string(text).description
        #expect(try Array(#require(JSON(parsing: written).string).utf8) == Array(text.utf8))
        #expect(try JSON(parsing: #""\ud83e\udd80\u00e9\/""#) == "🦀é/")
    }

    @Test(arguments: [
        "", "{", "[1,]", "{\"a\" 1}", "01", "1.", "+1", "nul", "\"a", "\"\u{1}\"", #""\ud800""#, #""\udc00x""#, #""\x""#, "1 2",
        #"{"a":1,"a":2}"#, "[1}", "-", "1e", "\u{feff}1", "NaN",
    ])
    func brokenTextsAreErrors(text: String) {
        #expect(thrown { _ = try JSON(parsing: text) } is InvalidError)
    }

    @Test func depthIsBounded() throws {
        func nested(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        _ = try JSON(parsing: nested(512))
        #expect(thrown { _ = try JSON(parsing: nested(513)) } is InvalidError)
        #expect(thrown { _ = try JSON(parsing: nested(1_000_000)) } is InvalidError)
    }

    @Test func membersKeepTheirOrderAndAreToldApartByTheirCodes() throws {
        let text = "{\"b\":1,\"a\":2,\"\u{e9}\":3,\"e\u{301}\":4}"
        let value = try JSON(parsing: text)
        #expect(value.description == text)
        #expect(value["\u{e9}"] == 3)
        #expect(value["e\u{301}"] == 4)
        #expect(try JSON(parsing: #"{"a":1,"b":2}"#) == JSON(parsing: #"{"b":2,"a":1}"#))
        let many = "{" + (0..<100).map { "\"k\($0)\":\($0)" }.joined(separator: ",") + "}"
        #expect(try JSON(parsing: many).decode(as: [String: Int].self)["k77"] == 77)
        let twice = many.dropLast() + ",\"k5\":0}"
        #expect(thrown { _ = try JSON(parsing: String(twice)) } is InvalidError)
    }

    @Test func typesSayWhereTheyDiffer() throws {
        struct Inner: Decodable { let days: [Int] }
        struct Outer: Decodable { let inner: Inner }
        let error = thrown { _ = try JSON(parsing: #"{"inner":{"days":[1,"x"]}}"#).decode(as: Outer.self) }
        #expect((error as? InvalidError)?.message.hasPrefix("inner.days[1]: an integer") == true)
        let missing = thrown { _ = try JSON(parsing: "{}").decode(as: Outer.self) }
        #expect((missing as? InvalidError)?.message == "`inner` is missing")
    }

    @Test func othersCodersAreServed() throws {
        struct Holder: Codable, Equatable { let any: JSON }
        let holder = Holder(any: ["n": 9_007_199_254_740_993, "u": .exact("18446744073709551615"), "l": [true, "x", 1.5]])
        let data = try JSONEncoder().encode(holder)
        #expect(try JSONDecoder().decode(Holder.self, from: data) == holder)
    }
}

@Suite struct SchemaTests {
    enum Unit: String, Decodable, CaseIterable { case celsius, kelvin }
    struct Place: Decodable { let city: String, near: [String]?, unit: Unit, at: Point?, more: [String: Double] }
    struct Point: Decodable { let x: Double, y: Double }
    struct Odd: Decodable {
        init(from decoder: any Decoder) throws {
            let text = try decoder.singleValueContainer().decode(String.self)
            if text.isEmpty { throw InvalidError("no text") }
        }
    }

    @Test func structsHaveSchemas() throws {
        let point: JSON = [
            "type": "object", "properties": ["x": ["type": "number"], "y": ["type": "number"]], "required": ["x", "y"],
        ]
        let wanted: JSON = [
            "type": "object",
            "properties": [
                "city": ["type": "string"], "near": ["type": "array", "items": ["type": "string"]],
                "unit": ["type": "string", "enum": ["celsius", "kelvin"]], "at": point,
                "more": ["type": "object", "additionalProperties": ["type": "number"]],
            ],
            "required": ["city", "unit", "more"],
        ]
        #expect(try InputSchema.of(Place.self) == wanted)
    }

    @Test func whatHasNoneSaysSo() {
        #expect(thrown { _ = try InputSchema.of(Odd.self) } is UsageError)
        let server = Server("s", version: "1").tool("odd") { (_: Odd, _) in "" }
        #expect(thrown { _ = try server.running() } is UsageError)
    }
}
