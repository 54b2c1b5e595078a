import Foundation
import KeelFlat

/// The records that one call of the core gave.
typealias Records = [FlatRecord]

extension FlatRecord {
    /// The payload of all kinds but `write` and `body`.
    var string: String { String(decoding: text, as: UTF8.self) }
}

/// Milliseconds of the clock that every object is fed with.
func now() -> Int64 {
    Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000)
}

func randomSeed() -> Data {
    var source = SystemRandomNumberGenerator()
    return Data((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &source) })
}

/// One call of the core; what it refuses becomes an error of ours.
func asking<T>(_ call: () throws -> T) throws -> T {
    do {
        return try call()
    } catch FlatError.Refused(let code, let detail) {
        if code == "internal_error" { throw InternalError(detail) }
        throw UsageError(detail, code: code)
    }
}

/// A value behind a lock. What runs in `with` must not wait.
final class Locked<Value>: @unchecked Sendable {
    private var value: Value
    private let lock = NSLock()

    init(_ value: Value) {
        self.value = value
    }

    func with<T>(_ use: (inout Value) throws -> T) rethrows -> T {
        lock.lock()
        defer { lock.unlock() }
        return try use(&value)
    }
}

/// The one timer of an object, for the deadline of its last `wait`.
struct Deadline {
    private var task: Task<Void, Never>?
    /// When the timer ends, and when it is wanted: 0 = never. A timer that ends early is cheaper than a new one.
    private var ends: Int64 = 0
    private var due: Int64 = 0
    private let ring: @Sendable () -> Void

    init(ring: @escaping @Sendable () -> Void) {
        self.ring = ring
    }

    mutating func set(_ due: Int64) {
        self.due = due
        if due != 0, task == nil || ends > due { arm() }
    }

    /// The timer rang. True when the deadline has come.
    mutating func rang(at time: Int64) -> Bool {
        task = nil
        guard due != 0 else { return false }
        if time < due {
            arm()
            return false
        }
        due = 0
        return true
    }

    mutating func stop() {
        due = 0
        task?.cancel()
        task = nil
    }

    private mutating func arm() {
        task?.cancel()
        ends = due
        let delay = UInt64(max(due - now(), 0)) * 1_000_000
        task = Task.detached { [ring] in
            guard (try? await Task.sleep(nanoseconds: delay)) != nil else { return }
            ring()
        }
    }
}
