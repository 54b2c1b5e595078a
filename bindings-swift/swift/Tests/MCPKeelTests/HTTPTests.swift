import Dispatch
import Foundation
import Testing

@testable import MCPKeel

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

@Suite(.timeLimit(.minutes(1))) struct HTTPTests {
    @Test(arguments: MemoryTests.eras) func aServerOnAPort(era: ClientOptions.Mode) async throws {
        let listener = try sampler().listenHTTP(HTTPOptions())
        var options = ClientOptions()
        options.mode = era
        let client = try await Client.connect(to: .url(listener.url), options: options)
        #expect(client.era == era.rawValue)
        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<40 {
                group.addTask { try await client.callTool("hello", arguments: ["name": "\(number)"]).text }
            }
            var answers = Set<String>()
            for try await answer in group { answers.insert(answer) }
            #expect(answers.count == 40)
        }
        let large = String(repeating: "ü", count: 1 << 20)
        #expect(try await client.callTool("hello", arguments: ["name": .string(large)]).text == "Hello, \(large)!")
        await client.close()
        await listener.close()
    }

    @Test func nobodyListens() async throws {
        let listener = try sampler().listenHTTP(HTTPOptions())
        await listener.close()
        #expect(await failure { _ = try await Client.connect(to: .url(listener.url)) } is Disconnected)
    }

    @Test func closingAnswersWhatRuns() async throws {
        let (started, start) = AsyncStream<Void>.makeStream()
        let server = Server("s", version: "1")
        server.tool("forever") { _ -> String in
            start.yield()
            try await Task.sleep(nanoseconds: 3_600_000_000_000)
            return ""
        }
        let listener = try server.listenHTTP(HTTPOptions())
        let client = try await Client.connect(to: .url(listener.url))
        let call = Task { try await client.callTool("forever") }
        for await _ in started { break }
        await listener.close()
        #expect(await failure { _ = try await call.value } is PeerError)
        await client.close()
    }

    @Test func garbageIsAnsweredAndEndsNothing() async throws {
        let listener = try sampler().listenHTTP(HTTPOptions())
        for garbage in ["\u{1}\u{2}\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{\"broken\""] {
            let answer = try exchange(listener.port, garbage)
            #expect(answer.hasPrefix("HTTP/1.1 4"), "\(answer)")
        }
        let client = try await Client.connect(to: .url(listener.url))
        #expect(try await client.callTool("hello", arguments: ["name": "A"]).text == "Hello, A!")
        await client.close()
        await listener.close()
    }

    @Test func connectionsBeyondTheLimitAreTold() async throws {
        var options = HTTPOptions()
        options.maxConnections = 0
        let listener = try sampler().listenHTTP(options)
        #expect(try exchange(listener.port, "").hasPrefix("HTTP/1.1 503"))
        await listener.close()
    }

    /// Sends a text on a connection of its own; what came until the other side closed it, or for a second.
    private func exchange(_ port: UInt16, _ text: String) throws -> String {
        #if os(Linux)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        try #require(connected == 0)
        let bytes = Array(text.utf8)
        _ = write(descriptor, bytes, bytes.count)
        var limit = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var got: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count <= 0 { break }
            got.append(contentsOf: piece[..<count])
        }
        return String(decoding: got, as: UTF8.self)
    }
}
