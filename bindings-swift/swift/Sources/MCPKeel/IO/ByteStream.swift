import Dispatch
import Foundation

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// What a byte stream tells, in order, on a queue of its own.
enum ByteEvent: Sendable {
    case bytes(Data)
    /// No more will come.
    case end
    /// Nothing can be written any more.
    case broken
    /// What was queued has been written.
    case drained
    /// Both directions are closed.
    case closed
}

/// Bytes from and to file descriptors of this process, without blocking. Closes them in the end.
final class ByteStream: @unchecked Sendable {
    // Not a thread for each.
    private let queue = DispatchQueue(label: "mcp-keel.stream", target: .global())
    private let input: Int32?
    private let output: Int32?
    private let isPaced: Bool
    private let tell: @Sendable (ByteEvent) -> Void
    private let waiting = Locked(0)

    // On the queue.
    private var isReading = false
    /// Whether the poller will tell when there is more to read, and when there is room to write.
    private var awaitsInput = false
    private var awaitsRoom = false
    private var untaken = 0
    private var chunks: [Data] = []
    private var isClosing = false
    private var isOutputDone = false
    private var isOver = false

    /// From so many bytes on, which nobody has taken or which the other side has not read, no more are read.
    private static let most = 256 * 1024
    private static let piece = 64 * 1024

    /// `input` and `output` may be the same socket. Who is not paced does not say what it `took`.
    init(input: Int32?, output: Int32?, isPaced: Bool = true, tell: @escaping @Sendable (ByteEvent) -> Void) {
        (self.input, self.output, self.isPaced, self.tell) = (input, output, isPaced, tell)
        ByteStream.ignoreBrokenPipes
        for descriptor in Set([input, output].compactMap { $0 }) {
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        }
        isOutputDone = output == nil
    }

    /// A write to a peer that is gone is an error here, not the end of the process.
    static let ignoreBrokenPipes: Void = {
        var action = sigaction()
        sigaction(SIGPIPE, nil, &action)
        #if canImport(Darwin)
        let isDefault = action.__sigaction_u.__sa_handler == nil
        #else
        let isDefault = action.__sigaction_handler.sa_handler == nil
        #endif
        if isDefault { signal(SIGPIPE, SIG_IGN) }
    }()

    /// Bytes that the other side has not taken yet.
    var queued: Int { waiting.with { $0 } }

    func start() {
        queue.async { self.listen() }
    }

    func write(_ bytes: Data) {
        waiting.with { $0 += bytes.count }
        queue.async { self.push(bytes) }
    }

    /// So many bytes that came have been used.
    func took(_ count: Int) {
        queue.async {
            self.untaken -= count
            self.pace()
        }
    }

    /// Closes the output once all is written; of a socket both directions.
    func close() {
        queue.async {
            self.isClosing = true
            self.writeOut()
        }
    }

    /// Closes everything at once.
    func cancel() {
        queue.async { self.shut() }
    }

    private func listen() {
        guard input != nil, !isOver else { return }
        isReading = true
        pace()
    }

    /// Reads only as fast as what came is used, and as the other side reads.
    private func pace() {
        guard let input, isReading, !awaitsInput, untaken <= ByteStream.most, queued <= ByteStream.most else { return }
        awaitsInput = true
        Poller.shared.watch(input, .reading) { self.queue.async { self.read() } }
    }

    private func read() {
        awaitsInput = false
        guard let input, isReading else { return }
        var bytes = Data(count: ByteStream.piece)
        let count = bytes.withUnsafeMutableBytes { sys_read(input, $0.baseAddress, $0.count) }
        if count > 0 {
            if isPaced { untaken += count }
            tell(.bytes(bytes.prefix(count)))
        } else if count == 0 || errno != EAGAIN && errno != EINTR {
            isReading = false
            tell(.end)
            if count < 0 || isOutputDone { shut() }
        }
        pace()
    }

    private func push(_ bytes: Data) {
        guard !isOutputDone else {
            waiting.with { $0 -= bytes.count }
            return
        }
        chunks.append(bytes)
        if !awaitsRoom { writeOut() }
    }

    private func writeOut() {
        guard let output, !isOutputDone else { return }
        while let chunk = chunks.first {
            let count = chunk.withUnsafeBytes { sys_write(output, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN { return awaitRoom(output) }
                return broke()
            }
            waiting.with { $0 -= count }
            if count == chunk.count { chunks.removeFirst() } else { chunks[0] = chunk.dropFirst(count) }
        }
        if isClosing { endOutput() }
    }

    private func awaitRoom(_ output: Int32) {
        guard !awaitsRoom else { return }
        awaitsRoom = true
        Poller.shared.watch(output, .writing) {
            self.queue.async {
                self.awaitsRoom = false
                self.writeOut()
                guard !self.awaitsRoom, !self.isOver else { return }
                self.tell(.drained)
                self.pace()
            }
        }
    }

    private func broke() {
        tell(.broken)
        endOutput()
    }

    private func endOutput() {
        guard !isOutputDone else { return }
        isOutputDone = true
        chunks = []
        waiting.with { $0 = 0 }
        if input == output || !isReading { return shut() }
        if let output { discard(output) }
    }

    private func shut() {
        guard !isOver else { return }
        isOver = true
        isReading = false
        if let output, output != input, !isOutputDone { discard(output) }
        isOutputDone = true
        chunks = []
        waiting.with { $0 = 0 }
        if let input {
            // A child may hold a socket too.
            if input == output { shutdown(input, Int32(SHUT_RDWR)) }
            discard(input)
        }
        tell(.closed)
    }

    private func discard(_ descriptor: Int32) {
        Poller.shared.forget(descriptor)
        _ = sys_close(descriptor)
    }
}

/// The calls of the system, whose names methods here have too.
func sys_read(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int { read(descriptor, bytes, count) }
func sys_write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(descriptor, bytes, count) }
func sys_close(_ descriptor: Int32) -> Int32 { close(descriptor) }

/// Something that happens once, and those who wait for it.
final class Latch: Sendable {
    private let state = Locked((isOpen: false, count: 0, waiting: [Int: CheckedContinuation<Bool, Never>]()))

    func open() {
        let waiting = state.with { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for one in waiting { one.resume(returning: true) }
    }

    var isOpen: Bool { state.with { $0.isOpen } }

    /// Waits at most so many seconds; whether it happened.
    func wait(seconds: Double) async -> Bool {
        await withCheckedContinuation { waiting in
            let number: Int? = state.with { state in
                if state.isOpen { return nil }
                state.count += 1
                state.waiting[state.count] = waiting
                return state.count
            }
            guard let number else { return waiting.resume(returning: true) }
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [state] in
                state.with { $0.waiting.removeValue(forKey: number) }?.resume(returning: false)
            }
        }
    }

    func wait() async {
        while await !wait(seconds: 3600) {}
    }
}
