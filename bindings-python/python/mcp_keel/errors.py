"""Everything this package raises. `code` is a stable word, the same in every language."""

from __future__ import annotations

from typing import Any


class KeelError(Exception):
    """Base of all errors of this package."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class UsageError(KeelError):
    """The caller asked for something that is not possible here; nothing was sent."""

    code = "usage"


class InvalidError(KeelError):
    """Data did not fit its schema, or a schema is bad."""

    code = "invalid"


class LimitError(KeelError):
    """One of the bounds in `limits` was reached."""

    code = "limit"


class RequestTimeout(KeelError, TimeoutError):
    """No answer came in time. The peer was told that the request is cancelled."""

    code = "timeout"


class Cancelled(KeelError):
    """The request was cancelled by other means than cancelling the task that awaits it."""

    code = "cancelled"


class Disconnected(KeelError, ConnectionError):
    """The connection is gone. The message says why, with the last words of a dead child process."""

    code = "disconnected"


class PeerError(KeelError):
    """The other side answered with a JSON-RPC error: `rpc_code`, `message`, `data`.

    A handler that does not catch it answers with the same error.
    """

    code = "peer"

    def __init__(self, message: str, *, rpc_code: int, data: Any = None, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.rpc_code = rpc_code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.rpc_code})"


class InternalError(KeelError):
    """A defect of this package. The server or client that raised it is of no use any more."""

    code = "internal_error"


class McpError(KeelError):
    """Raise it in a handler to answer with this JSON-RPC error."""

    code = "mcp"

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.rpc_code = code
        self.message = message
        self.data = data


_KINDS: dict[str, type[KeelError]] = {
    "usage": UsageError,
    "invalid": InvalidError,
    "limit": LimitError,
    "timeout": RequestTimeout,
    "cancelled": Cancelled,
    "disconnected": Disconnected,
}


def from_record(error: dict[str, Any]) -> KeelError:
    """The exception for an `error` record of the core."""
    code, message = error["code"], error["message"]
    rpc = error.get("rpc")
    if error["kind"] == "peer" and rpc is not None:
        return PeerError(rpc["message"], rpc_code=rpc["code"], data=rpc.get("data"), code=code)
    return _KINDS.get(error["kind"], KeelError)(message, code=code)


def words(error: BaseException) -> str:
    """What clients are told of an exception."""
    return str(error) or type(error).__name__


def from_rpc(error: dict[str, Any]) -> PeerError:
    """The exception for the `error` member of an outcome."""
    return PeerError(error.get("message", ""), rpc_code=error.get("code", 0), data=error.get("data"))


def from_native(error: Exception) -> KeelError:
    """The exception for a call that the core refused."""
    code = getattr(error, "code", "usage")
    return InternalError(str(error)) if code == InternalError.code else UsageError(str(error), code=code)
