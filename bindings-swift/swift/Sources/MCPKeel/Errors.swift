import Foundation

/// Everything this package throws, beside `CancellationError` when the task that waits was cancelled. `code` is a stable
/// word, the same in every language.
public protocol KeelError: Error, Sendable, LocalizedError, CustomStringConvertible {
    var code: String { get }
    var message: String { get }
}

extension KeelError {
    public var errorDescription: String? { message }
    public var description: String { "\(message) (\(code))" }
}

/// The caller asked for something that is not possible here; nothing was sent.
public struct UsageError: KeelError {
    public let code: String
    public let message: String

    public init(_ message: String, code: String = "usage") {
        (self.message, self.code) = (message, code)
    }
}

/// Data did not fit its schema or type, or a number has no exact value in it.
public struct InvalidError: KeelError {
    public let code: String
    public let message: String

    public init(_ message: String, code: String = "invalid") {
        (self.message, self.code) = (message, code)
    }
}

/// One of the bounds in `limits` was reached.
public struct LimitError: KeelError {
    public let code: String
    public let message: String

    public init(_ message: String, code: String = "limit") {
        (self.message, self.code) = (message, code)
    }
}

/// No answer came in time. The peer was told that the request is cancelled.
public struct RequestTimeout: KeelError {
    public let code: String
    public let message: String

    public init(_ message: String, code: String = "timeout") {
        (self.message, self.code) = (message, code)
    }
}

/// The request was cancelled by other means than cancelling the task that waits for it.
public struct Cancelled: KeelError {
    public let code: String
    public let message: String

    public init(_ message: String, code: String = "cancelled") {
        (self.message, self.code) = (message, code)
    }
}

/// The connection is gone. The message says why, with the last words of a dead child process.
public struct Disconnected: KeelError {
    public let code: String
    public let message: String

    public init(_ message: String, code: String = "disconnected") {
        (self.message, self.code) = (message, code)
    }
}

/// The other side answered with a JSON-RPC error. Thrown by a handler, it is what the client gets as its answer:
/// `throw PeerError("no such city", rpcCode: -32602)`.
public struct PeerError: KeelError {
    public let code: String
    public let message: String
    /// The code of the JSON-RPC error.
    public let rpcCode: Int
    public let data: JSON?

    public init(_ message: String, rpcCode: Int, data: JSON? = nil, code: String = "peer") {
        (self.message, self.rpcCode, self.data, self.code) = (message, rpcCode, data, code)
    }

    /// From the `error` member of an answer.
    init(_ wire: JSON?, code: String = "peer") {
        self.init(wire?["message"]?.string ?? "", rpcCode: wire?["code"]?.int ?? 0, data: wire?["data"], code: code)
    }

    var wire: JSON {
        var wire: JSON.Object = ["code": .integer(Int64(rpcCode)), "message": .string(message)]
        wire["data"] = data
        return .object(wire)
    }
}

/// A defect of this package. The object refuses further use.
public struct InternalError: KeelError {
    public let code: String
    public let message: String

    init(_ message: String, code: String = "internal_error") {
        (self.message, self.code) = (message, code)
    }
}

/// The error for an `error` record of the core.
func failure(record text: String) -> any Error {
    guard let told = try? JSON(parsing: text), let kind = told["kind"]?.string else { return InternalError("no error: \(text)") }
    let code = told["code"]?.string ?? "error"
    let message = told["message"]?.string ?? ""
    if let rpc = told["rpc"] { return PeerError(rpc, code: code) }
    return switch kind {
    case "usage": UsageError(message, code: code)
    case "invalid": InvalidError(message, code: code)
    case "limit": LimitError(message, code: code)
    case "timeout": RequestTimeout(message, code: code)
    case "cancelled": Cancelled(message, code: code)
    case "disconnected": Disconnected(message, code: code)
    default: InternalError(message, code: code)
    }
}

/// What was thrown, in words for a person.
func words(_ error: any Error) -> String {
    if let own = error as? any KeelError { return own.message }
    if let told = error as? any LocalizedError, let words = told.errorDescription { return words }
    return String(describing: error)
}
