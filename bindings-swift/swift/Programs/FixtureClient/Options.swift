import Foundation
import MCPKeel

/// What the command line says.
struct Options {
    var era = ClientOptions.Mode.auto
    var target: Target
    var verbose = false

    init?(_ arguments: ArraySlice<String>) {
        var rest = arguments
        var found: Target?
        while let word = rest.popFirst() {
            switch word {
            case "--era":
                guard let era = rest.popFirst().flatMap(ClientOptions.Mode.init) else { return nil }
                self.era = era
            case "--http":
                guard let url = rest.popFirst().flatMap(URL.init(string:)) else { return nil }
                found = .url(url)
            case "--stdio": found = .command([])
            case "--verbose": verbose = true
            case "--":
                guard found != nil, !rest.isEmpty else { return nil }
                found = .command(Array(rest))
                rest = []
            default: return nil
            }
        }
        guard let found else { return nil }
        target = found
    }
}
