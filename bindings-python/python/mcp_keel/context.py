"""What a handler can do besides returning: progress, logs, and asking the client."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Awaitable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from .errors import UsageError
from .schema import encode, form
from .types import CallInfo, LogLevel, Root, SamplingResult

if TYPE_CHECKING:
    from .engine import Engine

T = TypeVar("T")

# A handler that reports so often without waiting for anything else lets others run.
TURN = 32


class Elicited(Generic[T]):
    """The user's answer. True when accepted; then `data` is what was asked for."""

    def __init__(self, action: str, data: T | None) -> None:
        self.action = action
        self.data = data

    def __bool__(self) -> bool:
        return self.action == "accept"


class Sent:
    """Something that was sent. Awaiting it is optional.

    It lets others run, waits while the client reads too slowly, and raises CancelledError once the call was cancelled.
    """

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    def __await__(self) -> Generator[Any, None, None]:
        context = self._context
        outlet = context._engine.outlets.get(context._stream)
        if outlet is not None and outlet.paused:
            yield from outlet.drained().__await__()
        elif context.cancelled or context._reported % TURN == 0:
            yield  # one turn of the loop
        if context.cancelled:
            raise asyncio.CancelledError("the call was cancelled")


class Context:
    """One running call. Handlers get it by a parameter with this type."""

    def __init__(self, engine: Engine, call: int, stream: int, key: str) -> None:
        self._engine = engine
        self._call = call
        self._stream = stream
        self._asked = 0
        self._reported = 0
        self._info: CallInfo | None = None
        self.key = key
        self.cancelled = False
        """Whether the call is over for the client. For handlers in threads: only `progress` and `log` stop those."""

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> Sent:
        """Tells how far the call is; dropped when the client did not ask for it or does not read.

        A handler that reports much awaits it; in a thread that happens by itself.
        """
        told = {"progress": progress, "total": total, "message": message}
        return self._send(self._engine.core.progress, {k: v for k, v in told.items() if v is not None})

    def log(self, level: LogLevel, data: Any, logger: str | None = None) -> Sent:
        """Sends a log message; `data` is anything that has JSON."""
        entry = {"level": level, "data": data}
        return self._send(self._engine.core.log, entry if logger is None else {**entry, "logger": logger})

    def _send(self, method: Any, payload: dict[str, Any]) -> Sent:
        self._reported += 1
        outlet = self._engine.outlets.get(self._stream)
        if outlet is None or not outlet.full():
            self._engine.do(method, self._call, encode(payload))
        sent = Sent(self)
        if (self.cancelled or self._reported % TURN == 0) and threading.get_ident() != self._engine.thread:
            self.wait(_delivered(sent))
            if self.cancelled:
                raise asyncio.CancelledError("the call was cancelled")
        return sent

    @property
    def info(self) -> CallInfo:
        """The client, its capabilities, the revision, the request's `_meta`."""
        if self._info is None:
            if threading.get_ident() == self._engine.thread:
                self._info = cast(CallInfo, json.loads(self._engine.core.call_info(self._call)))
            else:
                self._info = self.wait(self._ask_info())
        return self._info

    async def _ask_info(self) -> CallInfo:
        return self.info

    @overload
    async def elicit(self, message: str, schema: type[T]) -> Elicited[T]: ...
    @overload
    async def elicit(self, message: str, schema: Any) -> Elicited[Any]: ...
    async def elicit(self, message: str, schema: Any) -> Elicited[Any]:
        """Asks the user to fill in a form: a dataclass, TypedDict, model, scalar type or JSON Schema."""
        shape, decode = form(schema)
        result = await self.ask("elicitation/create", {"message": message, "requestedSchema": shape})
        accepted = result["action"] == "accept"
        return Elicited(result["action"], decode(result.get("content") or {}) if accepted else None)

    async def elicit_url(self, message: str, url: str, **more: Any) -> Elicited[None]:
        """Asks the user to visit a page, for what must not pass through the client."""
        result = await self.ask("elicitation/create", {"mode": "url", "message": message, "url": url, **more})
        return Elicited(result["action"], None)

    async def sample(self, messages: str | list[Any], *, max_tokens: int = 1024, **more: Any) -> SamplingResult:
        """Asks the client's model. Other members of the request go by their wire names."""
        if isinstance(messages, str):
            messages = [{"role": "user", "content": {"type": "text", "text": messages}}]
        params = {"messages": messages, "maxTokens": max_tokens, **more}
        return cast(SamplingResult, await self.ask("sampling/createMessage", params))

    async def roots(self) -> list[Root]:
        """The folders that the client works in."""
        return cast("list[Root]", (await self.ask("roots/list", {}))["roots"])

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Any request to the client inside this call; returns the result. PeerError when it refuses."""
        # Numbered in the order of asking: a handler that is run again asks the same again.
        self._asked += 1
        request = encode({"method": method, "params": params})
        return await self._engine.ask(self._call, str(self._asked), request)

    def wait(self, work: Awaitable[T]) -> T:
        """For handlers that are plain functions: `ctx.wait(ctx.elicit(...))` blocks until it is done."""
        coroutine = cast("Coroutine[Any, Any, T]", work)
        if threading.get_ident() == self._engine.thread:
            coroutine.close()
            raise UsageError("wait() is for plain functions; an async handler awaits")
        return asyncio.run_coroutine_threadsafe(coroutine, self._engine.loop).result()


async def _delivered(sent: Sent) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await sent
