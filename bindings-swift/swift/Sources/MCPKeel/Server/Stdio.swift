import Dispatch
import Foundation

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

extension Server {
    /// Serves this process's standard input and output until the client leaves. Meanwhile whatever else is printed on
    /// standard output goes to standard error.
    public func serveStdio() async throws {
        let serving = try running()
        fflush(nil)
        let kept = dup(STDOUT_FILENO)
        dup2(STDERR_FILENO, STDOUT_FILENO)
        let output = StdioOutput(kept)
        let stream = serving.open(.pipe, output)
        output.start { event in
            switch event {
            case .drained: serving.hear(.drained)
            default: serving.hear(.gone(stream))
            }
        }
        Thread.detachNewThread {
            while let bytes = readStandardInput(), !bytes.isEmpty {
                output.came(bytes.count)
                serving.hear(.receive(stream, bytes))
            }
            output.inputEnded()
            serving.hear(.end(stream))
        }
        await withTaskCancellationHandler {
            await output.finished.wait()
        } onCancel: {
            Task { await self.close() }
        }
        fflush(nil)
        dup2(kept, STDOUT_FILENO)
        _ = sys_close(kept)
    }
}

private func readStandardInput() -> Data? {
    var bytes = Data(count: 64 * 1024)
    while true {
        let count = bytes.withUnsafeMutableBytes { sys_read(STDIN_FILENO, $0.baseAddress, $0.count) }
        if count >= 0 { return bytes.prefix(count) }
        if errno != EINTR { return nil }
    }
}

/// Standard output, written by a thread: it may be a terminal or a file, which know no other way.
private final class StdioOutput: Sink, @unchecked Sendable {
    enum Event { case drained, gone }

    let finished = Latch()
    private let descriptor: Int32
    private let condition = NSCondition()
    private var chunks: [Data] = []
    private var waiting = 0
    private var untaken = 0
    private var isClosing = false
    private var isInputOver = false

    /// From so many bytes on, which nobody has taken or which the client has not read, no more are read.
    private static let most = 1024 * 1024
    /// Seconds after which to look whether a client that sends no more still reads.
    private static let look = 0.25

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        _ = ByteStream.ignoreBrokenPipes
    }

    var queued: Int { locked { waiting } }

    func write(_ bytes: Data) {
        locked {
            chunks.append(bytes)
            waiting += bytes.count
        }
    }

    func close() { locked { isClosing = true } }
    func inputEnded() { locked { isInputOver = true } }
    func took(_ count: Int) { locked { untaken -= count } }

    /// Bytes were read; waits while too many of them have not been used, or too little of the answers has been read.
    func came(_ count: Int) {
        locked {
            untaken += count
            while untaken > StdioOutput.most || waiting > StdioOutput.most { condition.wait() }
        }
    }

    private func locked<T>(_ body: () -> T) -> T {
        condition.lock()
        defer {
            condition.broadcast()
            condition.unlock()
        }
        return body()
    }

    func start(_ tell: @escaping @Sendable (Event) -> Void) {
        Thread.detachNewThread { [self] in
            while let chunks = next() {
                guard chunks.allSatisfy(put) else { break }
                let rest = locked {
                    waiting -= chunks.reduce(0) { $0 + $1.count }
                    return waiting
                }
                if rest == 0 { tell(.drained) }
            }
            locked {
                waiting = 0
                untaken = .min / 2
            }
            tell(.gone)
            finished.open()
        }
    }

    /// What is to be written next; nil when it is over.
    private func next() -> [Data]? {
        condition.lock()
        defer { condition.unlock() }
        while chunks.isEmpty {
            if isClosing || isInputOver && isAbandoned { return nil }
            if isInputOver {
                _ = condition.wait(until: Date(timeIntervalSinceNow: StdioOutput.look))
            } else {
                condition.wait()
            }
        }
        defer { chunks = [] }
        return chunks
    }

    /// Calls may still run when the input has ended; the end of a client that no longer reads shows here alone.
    private var isAbandoned: Bool {
        var state = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&state, 1, 0) > 0 && state.revents & Int16(POLLERR) != 0
    }

    private func put(_ chunk: Data) -> Bool {
        var rest = chunk
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { sys_write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&state, 1, 1000)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }
}
