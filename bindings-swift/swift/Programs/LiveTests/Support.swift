import Foundation
import MCPKeel

/// Something that did not hold.
struct Failed: LocalizedError {
    let errorDescription: String?

    init(_ why: String) { errorDescription = why }
}

func same<T: Equatable>(_ got: T, _ wanted: T) throws {
    if got != wanted { throw Failed("got \(got), wanted \(wanted)") }
}

func hold(_ condition: Bool, _ why: @autoclosure () -> String) throws {
    if !condition { throw Failed(why()) }
}

/// The error of this type that a body throws; anything else fails.
func thrown<E: Error>(_ type: E.Type, _ body: () async throws -> Void) async throws -> E {
    do {
        try await body()
    } catch let error as E {
        return error
    }
    throw Failed("no \(type)")
}

/// The work, or an error when it takes longer.
func within<T: Sendable>(seconds: Double, _ work: @escaping @Sendable () async throws -> T) async throws -> T {
    try await withThrowingTaskGroup(of: T.self) { group in
        group.addTask(operation: work)
        group.addTask {
            try await Task.sleep(nanoseconds: UInt64(seconds * 1e9))
            throw Failed("no end within \(seconds) s")
        }
        defer { group.cancelAll() }
        return try await group.next()!
    }
}

/// What tests saw, in order; can be waited for.
actor Seen<Value: Sendable> {
    private(set) var all: [Value] = []
    private var waiting: [(@Sendable (Value) -> Bool, CheckedContinuation<Value, Never>)] = []

    func add(_ value: Value) {
        all.append(value)
        waiting.removeAll { wanted, found in
            guard wanted(value) else { return false }
            found.resume(returning: value)
            return true
        }
    }

    func first(where wanted: @escaping @Sendable (Value) -> Bool) async -> Value {
        if let found = all.first(where: wanted) { return found }
        return await withCheckedContinuation { waiting.append((wanted, $0)) }
    }
}

/// A program that listens, until this is ended.
final class Listening: @unchecked Sendable {
    let url: URL
    private let process = Process()

    /// Waits for a line `listening PORT`.
    init(_ words: [String]) throws {
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.standardOutput = output
        try process.run()
        var text = ""
        while !text.contains("\n") {
            let bytes = output.fileHandleForReading.availableData
            if bytes.isEmpty { throw Failed("\(words) does not listen: \(text)") }
            text += String(decoding: bytes, as: UTF8.self)
        }
        let port = text.split(separator: " ").last.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) } ?? ""
        guard let url = URL(string: "http://127.0.0.1:\(port)/mcp") else { throw Failed("no port: \(text)") }
        self.url = url
    }

    func kill() {
        _ = end(process.processIdentifier)
    }

    deinit {
        if process.isRunning { kill() }
    }
}

private func end(_ process: Int32) -> Int32 {
    kill(process, SIGKILL)
}
