import Foundation

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// One thread that waits for file descriptors to become ready. The sources of Dispatch would do the same, but those of Linux
/// crash when the other side of a pipe is closed while they are cancelled.
final class Poller: @unchecked Sendable {
    static let shared = Poller()

    enum Direction { case reading, writing }

    private struct Watch: Hashable {
        let descriptor: Int32
        let direction: Direction
    }

    private let lock = NSLock()
    private var watched: [Watch: @Sendable () -> Void] = [:]
    private var isWoken = false
    /// A pipe that ends a wait. Without descriptors left there is none, and waits are short.
    private var wake: [Int32] = [-1, -1]

    private init() {
        if pipe(&wake) != 0 { wake = [-1, -1] }
        for end in wake {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
        }
        Thread.detachNewThread { self.run() }
    }

    /// Calls `ready`, once, when the descriptor can be read or written, or is of no use any more. It may be called when
    /// there is nothing to read; it must not wait.
    func watch(_ descriptor: Int32, _ direction: Direction, _ ready: @escaping @Sendable () -> Void) {
        change { $0[Watch(descriptor: descriptor, direction: direction)] = ready }
    }

    /// To be called before a descriptor is closed.
    func forget(_ descriptor: Int32) {
        change { watched in
            watched[Watch(descriptor: descriptor, direction: .reading)] = nil
            watched[Watch(descriptor: descriptor, direction: .writing)] = nil
        }
    }

    private func change(_ change: (inout [Watch: @Sendable () -> Void]) -> Void) {
        lock.lock()
        change(&watched)
        let isFirst = !isWoken
        isWoken = true
        lock.unlock()
        if isFirst {
            var byte: UInt8 = 0
            _ = sys_write(wake[1], &byte, 1)
        }
    }

    private func run() {
        var drained = [UInt8](repeating: 0, count: 64)
        while true {
            var waited = next()
            guard poll(&waited, nfds_t(waited.count), wake[0] < 0 ? 10 : -1) >= 0 else { continue }
            if waited[0].revents != 0 { _ = sys_read(wake[0], &drained, drained.count) }
            for one in waited.dropFirst() where one.revents != 0 {
                let direction = one.events == Int16(POLLIN) ? Direction.reading : .writing
                lock.lock()
                let ready = watched.removeValue(forKey: Watch(descriptor: one.fd, direction: direction))
                lock.unlock()
                ready?()
            }
        }
    }

    private func next() -> [pollfd] {
        lock.lock()
        defer { lock.unlock() }
        isWoken = false
        let wake = pollfd(fd: wake[0], events: Int16(POLLIN), revents: 0)
        return [wake] + watched.keys.map {
            pollfd(fd: $0.descriptor, events: Int16($0.direction == .reading ? POLLIN : POLLOUT), revents: 0)
        }
    }
}
