import Dispatch
import Foundation

#if os(macOS)
import Darwin
#elseif os(Linux)
import Glibc
#endif

#if os(macOS) || os(Linux)
/// A program that was started, in a process group of its own, with pipes to it.
struct Child: Sendable {
    let id: pid_t
    let input: Int32
    let output: Int32
    let errors: Int32
    /// Opens when it has ended; what `waitpid` said is in `status`.
    let exit = Latch()
    let status = Locked<Int32?>(nil)

    private static let running = Locked<Set<pid_t>>([])
    private static let making = Locked(())
    /// Children end with this process, also when nobody closed their client.
    private static let guarded: Void = {
        atexit { for id in Child.running.with({ $0 }) { kill(-id, SIGTERM) } }
    }()

    init(_ words: [String], environment: [String: String], directory: String?) throws {
        Child.guarded
        // One at a time: pipes that are just made would be given to other children too.
        let (error, id, outer) = try Child.making.with { _ in
            let pipes = try (0..<3).map { _ in try pipe() }
            let inner = [pipes[0].0, pipes[1].1, pipes[2].1]
            let (error, id) = Child.spawn(words, environment, directory, inner)
            for end in inner { _ = sys_close(end) }
            return (error, id, [pipes[0].1, pipes[1].0, pipes[2].0])
        }
        guard error == 0 else {
            for end in outer { _ = sys_close(end) }
            throw Disconnected("cannot start \(words[0]): \(String(cString: strerror(error)))")
        }
        (self.id, input, output, errors) = (id, outer[0], outer[1], outer[2])
        _ = Child.running.with { $0.insert(id) }
        let (exit, status) = (self.exit, self.status)
        Thread.detachNewThread {
            var code: Int32 = 0
            while waitpid(id, &code, 0) < 0 && errno == EINTR {}
            let ended = code
            status.with { $0 = ended }
            _ = Child.running.with { $0.remove(id) }
            exit.open()
        }
    }

    private static func spawn(_ words: [String], _ environment: [String: String], _ directory: String?, _ ends: [Int32]) -> (Int32, pid_t) {
        #if os(macOS)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        var flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_CLOEXEC_DEFAULT
        #else
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (place, end) in ends.enumerated() { posix_spawn_file_actions_adddup2(&actions, end, Int32(place)) }
        if let directory { posix_spawn_file_actions_addchdir_np(&actions, directory) }
        var (none, broken) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigemptyset(&broken)
        sigaddset(&broken, SIGPIPE)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &broken)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        let arguments = words.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var id: pid_t = 0
        return (posix_spawnp(&id, words[0], &actions, &attributes, arguments, variables), id)
    }

    /// Signals the whole group; one that is gone already is no error.
    func signal(_ number: Int32) {
        kill(-id, number)
    }

    /// How it ended, in words.
    var ending: String {
        guard let status = status.with({ $0 }) else { return "closed its output" }
        let signal = status & 0x7f
        return signal == 0 ? "exited with code \(status >> 8 & 0xff)" : "was ended by signal \(signal)"
    }
}

/// Both ends stay in this process unless they are given to a child.
private func pipe() throws -> (Int32, Int32) {
    var ends: [Int32] = [0, 0]
    guard sys_pipe(&ends) == 0 else { throw Disconnected("no pipe: \(String(cString: strerror(errno)))") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
}

private func sys_pipe(_ ends: UnsafeMutablePointer<Int32>) -> Int32 {
    #if os(Linux)
    Glibc.pipe(ends)
    #else
    Darwin.pipe(ends)
    #endif
}

/// A server as a child process: its messages on its standard input and output, its whole group ended with it.
final class ChildLink: Link, @unchecked Sendable {
    private let words: [String]
    private let environment: [String: String]
    private let directory: String?
    // There once it is open, and not changed afterwards.
    private var child: Child?
    private var pipe: ByteStream?
    private var errors: ByteStream?
    private let tail = Locked(Data())

    /// Seconds for each step of ending a child: after its input ends, after SIGTERM.
    private static let step = 2.0
    /// How long to wait for what comes late: the exit code after the end of output, output after the exit.
    private static let late = 0.25
    /// Bytes of standard error kept for error texts.
    private static let kept = 2000

    init(_ words: [String], environment: [String: String], directory: String?) throws {
        guard let name = words.first, !name.isEmpty else { throw UsageError("a command has at least the name of a program") }
        (self.words, self.directory) = (words, directory)
        self.environment = ProcessInfo.processInfo.environment.merging(environment) { _, ours in ours }
    }

    var config: JSON.Object { ["link": "pipe"] }

    func open(_ hear: @escaping Hear) async throws {
        let child = try Child(words, environment: environment, directory: directory)
        self.child = child
        let late = ChildLink.late
        let (finished, spoken) = (Latch(), Latch())
        let pipe = ByteStream(input: child.output, output: child.input) { event in
            switch event {
            case .bytes(let bytes): hear(.receive(bytes))
            case .end, .closed: finished.open()
            default: break
            }
        }
        let tail = tail
        let errors = ByteStream(input: child.errors, output: nil, isPaced: false) { event in
            switch event {
            case .bytes(let bytes):
                tail.with { $0 = Data(($0 + bytes).suffix(ChildLink.kept)) }
                _ = bytes.withUnsafeBytes { sys_write(STDERR_FILENO, $0.baseAddress, $0.count) }
            case .end, .closed: spoken.open()
            default: break
            }
        }
        Task.detached { [self] in
            // Output that a process of its group still holds open is not waited for, nor is a late exit.
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await child.exit.wait(); _ = await finished.wait(seconds: late) }
                group.addTask { await finished.wait(); _ = await child.exit.wait(seconds: late) }
                await group.next()
                finished.open()
            }
            _ = await spoken.wait(seconds: late)
            hear(.ended(said(child)))
        }
        (self.pipe, self.errors) = (pipe, errors)
        pipe.start()
        errors.start()
    }

    func write(_ bytes: Data) { pipe?.write(bytes) }
    func close() { pipe?.close() }
    func took(_ count: Int) { pipe?.took(count) }

    func closed() async {
        guard let child else { return }
        close()
        for signal in [SIGTERM, SIGKILL] {
            if await child.exit.wait(seconds: ChildLink.step) { break }
            child.signal(signal)
        }
        await child.exit.wait()
        // What the server left behind goes with it.
        child.signal(SIGKILL)
        pipe?.cancel()
        errors?.cancel()
    }

    private func said(_ child: Child) -> String {
        let tail = String(decoding: tail.with { $0 }, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return "\(words[0]) \(child.ending)\(tail.isEmpty ? "" : "; its last words: \(tail)")"
    }
}
#else
/// Programs cannot be started on this platform.
struct ChildLink: Link {
    var config: JSON.Object { ["link": "pipe"] }

    init(_ words: [String], environment: [String: String], directory: String?) throws {
        throw UsageError("this platform starts no programs")
    }

    func open(_ hear: @escaping Hear) async throws {}
    func closed() async {}
}
#endif
