import Foundation
import Testing

@testable import MCPKeel

@Suite struct JSONTests {
    @Test func integersAreExact() throws {
        #expect(try JSON(parsing: "9007199254740993") == .integer(9_007_199_254_740_993))
    }
}
