"""What runs below a `Client`: the core object, its link, and who waits for what."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
from collections.abc import Callable
from typing import Any

from ._native import FlatClient, NativeError
from .driver import Pump, handed
from .errors import (
    Disconnected,
    InternalError,
    KeelError,
    McpError,
    PeerError,
    RequestTimeout,
    UsageError,
    from_record,
    words,
)
from .inputs import Inputs
from .schema import encode, failure
from .trace import tracer

Progress = Callable[[dict[str, Any]], object]


class Machine(Pump):
    """One connection of a client: the core object, its link, and who waits for what."""

    def __init__(
        self,
        config: dict[str, Any],
        loop: asyncio.AbstractEventLoop,
        inputs: Inputs,
        on_notice: Callable[[str, dict[str, Any]], object] | None,
        trace: Callable[[str, str], object] | None,
    ) -> None:
        told = None if trace is None else lambda direction, text, _: trace(direction, text)
        self.trace = tracer("client", told)
        config["trace"] = self.trace is not None
        try:
            core = FlatClient(encode(config), os.urandom(32))
        except NativeError as error:
            raise UsageError(str(error), code=error.code) from None
        super().__init__(core, loop)
        self.link: Any = None
        self.pool: Any = None
        self.ready: asyncio.Future[dict[str, Any]] = loop.create_future()
        self.closed: asyncio.Future[KeelError] = loop.create_future()
        self._listening: dict[int, asyncio.Queue[Any]] = {}
        self._inputs = inputs
        self._on_notice = on_notice
        self._handles = 0
        self._pending: dict[int, tuple[asyncio.Future[str], Callable[[Any], None] | None]] = {}
        self._asked: dict[int, asyncio.Task[None]] = {}
        self._told: dict[Any, asyncio.Task[None]] = {}

    async def request(
        self,
        method: str,
        params: Any,
        options: dict[str, Any],
        progress: Progress | None = None,
        notices: asyncio.Queue[Any] | None = None,
    ) -> dict[str, Any]:
        """Sends a request; `notices` gets the notifications that are for it."""
        if self.closed.done():
            gone = self.closed.result()
            raise Disconnected(str(gone), code=gone.code)
        self._handles += 1
        handle = self._handles
        if self.link is not None:
            await self.link.outlet.drained()
        future: asyncio.Future[str] = self.loop.create_future()
        tell = None if progress is None else lambda told: self.tell(handle, progress, told)
        self._pending[handle] = (future, tell)
        if notices is not None:
            self._listening[handle] = notices
        try:
            self.feed(self.core.request, handle, method, handed(encode(params)), encode(options))
            text = await future
            if handle in self._told:
                await asyncio.wait([self._told[handle]])
        except asyncio.CancelledError:
            if self._pending.pop(handle, None) is not None:
                self.feed(self.core.cancel, handle, "the caller no longer waits")
            raise
        finally:
            self._pending.pop(handle, None)
            self._listening.pop(handle, None)
            self._told.pop(handle, None)
        result: dict[str, Any] = json.loads(text)
        return result

    def tell(self, key: Any, callback: Callable[..., object], *args: Any) -> None:
        """Calls a callback of the user; those that are async run one after the other."""
        try:
            value = callback(*args)
        except Exception as error:
            self.report(f"in {callback!r}", error)
            return
        if inspect.isawaitable(value):
            before = self._told.get(key)

            async def run() -> None:
                if before is not None:
                    await asyncio.wait([before])
                try:
                    await value
                except Exception as error:
                    self.report(f"in {callback!r}", error)

            self._told[key] = self.loop.create_task(run())

    # What the link says.

    def receive(self, data: bytes) -> None:
        self.feed(self.core.receive, data)

    def ended(self, reason: str) -> None:
        if not self.closed.done():
            self.feed(self.core.ended, reason)

    def response(self, stream: int, status: int, headers: str) -> None:
        self.feed(self.core.response, stream, status, headers)

    def body(self, stream: int, data: bytes) -> None:
        self.feed(self.core.body, stream, data)

    def end(self, stream: int) -> None:
        self.feed(self.core.end, stream)

    def failed(self, stream: int, reason: str) -> None:
        self.feed(self.core.failed, stream, reason)

    # What the core says.

    def on_write(self, stream: int, id: int, name: str, text: bytes, until: int) -> None:
        self.link.outlet.write(text)

    def on_fetch(self, stream: int, id: int, method: str, text: str, until: int) -> None:
        self.pool.fetch(stream, method, text)

    def on_abort(self, stream: int, *_: Any) -> None:
        self.pool.abort(stream)

    def on_ready(self, stream: int, id: int, revision: str, text: str, until: int) -> None:
        if not self.ready.done():
            self.ready.set_result({"revision": revision, **json.loads(text)})

    def on_result(self, stream: int, handle: int, name: str, text: str, until: int) -> None:
        future, _ = self._pending.get(handle, (None, None))
        if future is not None and not future.done():
            future.set_result(text)

    def on_error(self, stream: int, handle: int, code: str, text: str, until: int) -> None:
        future, _ = self._pending.get(handle, (None, None))
        if future is not None and not future.done():
            future.set_exception(from_record(json.loads(text)))

    def on_progress(self, stream: int, handle: int, name: str, text: str, until: int) -> None:
        _, tell = self._pending.get(handle, (None, None))
        if tell is not None:
            tell(json.loads(text))

    def on_notice(self, stream: int, handle: int, method: str, text: str, until: int) -> None:
        params = json.loads(text or "{}")
        queue = self._listening.get(handle)
        if queue is not None:
            queue.put_nowait((method, params))
        if self._on_notice is not None:
            self.tell("notice", self._on_notice, method, params)

    def on_input(self, stream: int, token: int, method: str, text: str, until: int) -> None:
        task = self.loop.create_task(self._answer(token, method, text))
        self._asked[token] = task
        task.add_done_callback(lambda _: self._asked.pop(token, None))

    def on_input_cancelled(self, stream: int, token: int, *_: Any) -> None:
        task = self._asked.pop(token, None)
        if task is not None:
            task.cancel()

    async def _answer(self, token: int, method: str, text: str) -> None:
        try:
            outcome = encode({"result": await self._inputs.answer(method, json.loads(text or "{}"))})
        except (McpError, PeerError) as error:
            outcome = failure(error.rpc_code, error.message, error.data)
        except (Exception, SystemExit) as error:
            self.report(f"while answering {method!r}", error)
            outcome = failure(-32603, words(error))
        try:
            self.feed(self.core.answer, token, outcome)
        except (UsageError, UnicodeEncodeError) as error:
            # Text that no JSON can carry, or more than the limits allow: still one answer.
            self.report(f"while answering {method!r}", error)
            self.feed(self.core.answer, token, failure(-32603, f"bad answer: {type(error).__name__}"))

    def on_violation(self, stream: int, id: int, code: str, message: str, until: int) -> None:
        import logging

        logging.getLogger("mcp_keel").warning("the server broke a rule: %s: %s", code, message)

    def on_close(self, *_: Any) -> None:
        if self.link is not None:
            self.link.close_input()

    def on_closed(self, stream: int, id: int, code: str, message: str, until: int) -> None:
        error: KeelError = RequestTimeout(message) if code == "timeout" else Disconnected(message, code=code or None)
        if not self.closed.done():
            self.closed.set_result(error)
        self._fail(error)

    async def shut(self) -> None:
        """Ends the connection, bounded in time, whatever state it is in."""
        if not self.closed.done():
            with contextlib.suppress(InternalError):
                self.feed(self.core.close)
            await asyncio.wait([self.closed], timeout=2)
        if self.link is not None:
            await self.link.stop()
        if self.pool is not None:
            self.pool.close()
        self.stop()
        for task in list(self._asked.values()):
            task.cancel()
        self._fail(Disconnected("the client was closed"))

    def broke(self, error: InternalError) -> None:
        if not self.closed.done():
            self.closed.set_result(Disconnected(str(error), code=error.code))
        self._fail(error)

    def _fail(self, error: KeelError) -> None:
        waiting: list[asyncio.Future[Any]] = [future for future, _ in self._pending.values()]
        for future in (self.ready, *waiting):
            if not future.done():
                future.set_exception(error)
                future.exception()  # maybe nobody waits for it any more
