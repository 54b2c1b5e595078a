// The server of the fixture, which every language has: `fixture-server --stdio` or `fixture-server --http PORT`.
import Foundation
import MCPKeel

struct Echo: Decodable { let text: String }
struct Pair: Decodable { let a: Int64, b: Int64 }
struct Sum: Codable { let result: Int64 }
struct Count: Decodable { let to: Int }
struct Person: Decodable { let name: String }
struct Wait: Decodable { let ms: UInt64 }
struct Failure: LocalizedError { let errorDescription: String? }

func fixture() -> Server {
    let server = Server("keel-fixture", version: "1.0.0")
    server.tool("echo", "Gives back the text.") { (echo: Echo, _) in echo.text }
    server.tool("add", "Adds two integers.") { (pair: Pair, _) in
        let (sum, overflow) = pair.a.addingReportingOverflow(pair.b)
        if overflow { throw Failure(errorDescription: "the sum has more than 64 bits") }
        return Sum(result: sum)
    }
    let upTo: JSON = ["type": "object", "properties": ["to": ["type": "integer", "minimum": 1]], "required": ["to"]]
    server.tool("count", "Counts, and tells how far it is.", input: upTo) { (count: Count, context) in
        for step in 1...count.to {
            try await context.progress(Double(step), total: Double(count.to), message: "step \(step)")
        }
        return "counted to \(count.to)"
    }
    server.tool("ask_name", "Asks for a name and greets.") { context in
        guard case .accepted(let person) = try await context.elicit("What is your name?", Person.self) else { return "No name given" }
        return "Hello, \(person.name)!"
    }
    server.tool("slow", "Waits, and may be cancelled.") { (wait: Wait, _) in
        try await Task.sleep(for: .milliseconds(wait.ms))
        return "done"
    }
    server.tool("fail", "Always fails.") { _ -> String in throw Failure(errorDescription: "it failed") }
    server.tool("chatty", "Says three things on the way.") { context in
        for word in ["one", "two", "three"] { try await context.log(.info, word) }
        return "logged"
    }
    server.resource("memo://greeting", name: "greeting", mimeType: "text/plain") { _ in "Hello from the fixture" }
    server.resource("memo://item/{id}", name: "item", mimeType: "text/plain") { variables, _ in "item \(variables["id"] ?? "")" }
    server.prompt("greet", "Asks for a greeting.") { (person: Person, _) in "Please greet \(person.name)." }
    server.completion { request, _ in
        guard request.reference == .prompt("greet"), request.argument == "name" else { return [] }
        return ["ada", "alan", "grace"].filter { $0.hasPrefix(request.value) }
    }
    return server
}

let arguments = CommandLine.arguments.dropFirst()
switch (arguments.first, arguments.last.flatMap(UInt16.init)) {
case ("--stdio", _): try await fixture().serveStdio()
case ("--http", let port?):
    try await fixture().serveHTTP(port: port) { listener in
        print("listening \(listener.port)")
        fflush(nil)
    }
default:
    FileHandle.standardError.write(Data("usage: fixture-server --stdio | --http PORT\n".utf8))
    exit(2)
}
