import MCPKeel

struct Place: Decodable {
    let city: String
    let days: Int?
}

let server = Server("weather", version: "1.0")

server.tool("forecast", "The highest temperature of each day.") { (place: Place, context) in
    try await context.log(.info, "looking at \(place.city)")
    return Dictionary(uniqueKeysWithValues: (1...(place.days ?? 3)).map { ("day \($0)", 15 + $0) })
}

try await server.serveStdio()
