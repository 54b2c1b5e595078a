import MCPKeel

// The command that starts the server follows the name of this program.
let client = try await Client.connect(to: .command(Array(CommandLine.arguments.dropFirst())))
let result = try await client.callTool("forecast", arguments: ["city": "Oslo"])
let days: [String: Int] = try result.decode()
print(days.sorted { $0.key < $1.key }.map { "\($0): \($1)" }.joined(separator: ", "))
await client.close()
