"""An `Engine` runs a server in one event loop: its streams, and the calls that run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Awaitable, Callable
from typing import Any

from ._native import FlatServer, NativeError
from .context import Context
from .driver import Pump, handed
from .eager import spawner
from .errors import InternalError, InvalidError, McpError, PeerError, UsageError, from_rpc, words
from .schema import encode, failure, parse
from .trace import Tell, tracer

Handler = Callable[[Context, Any], Awaitable[str]]

INTERNAL_ERROR = -32603
INVALID_PARAMS = -32602


class Engine(Pump):
    """One server in one event loop: its streams, and the calls that run."""

    def __init__(
        self,
        config: dict[str, Any],
        catalog: str,
        handlers: dict[str, Handler],
        loop: asyncio.AbstractEventLoop,
        trace: Tell | None = None,
    ) -> None:
        self.trace = tracer("server", trace)
        try:
            core = FlatServer(encode({**config, "trace": self.trace is not None}), os.urandom(32))
        except NativeError as error:
            raise UsageError(str(error), code=error.code) from None
        super().__init__(core, loop)
        self.outlets: dict[int, Any] = {}
        self.closed = loop.create_future()
        self._handlers = handlers
        self._spawn = spawner(loop)
        self._streams = 0
        self._ends: dict[int, asyncio.Future[None]] = {}
        self._calls: dict[int, tuple[Context, asyncio.Task[None] | None]] = {}
        self._asks: dict[tuple[int, str], asyncio.Future[str]] = {}
        self.feed(core.set_catalog, catalog)

    def attach(self, outlet: Any) -> tuple[int, asyncio.Future[None]]:
        """A number for a new stream, and a future that is done when the core closed it."""
        self._streams += 1
        self.outlets[self._streams] = outlet
        done = self._ends[self._streams] = self.loop.create_future()
        return self._streams, done

    def end(self, stream: int) -> None:
        if stream in self.outlets:
            self.feed(self.core.end, stream)

    def gone(self, stream: int) -> None:
        if self.outlets.pop(stream, None) is not None:
            self.feed(self.core.gone, stream)
        self._ended(stream)

    def _ended(self, stream: int) -> None:
        done = self._ends.pop(stream, None)
        if done is not None and not done.done():
            done.set_result(None)

    async def close(self) -> None:
        running = [task for _, task in self._calls.values() if task is not None]
        if not self.closed.done():
            self.closed.set_result(None)
            with contextlib.suppress(InternalError):
                self.feed(self.core.close)
            self.stop()
        for stream in list(self.outlets):
            self.on_close(stream)
        if running:  # those that will not end are left behind
            await asyncio.wait(running, timeout=2)

    def broke(self, error: InternalError) -> None:
        for call in list(self._calls):
            self.on_cancelled(0, call, "", str(error), 0)
        for stream in list(self.outlets):
            self.on_close(stream)

    async def ask(self, call: int, key: str, request: str) -> dict[str, Any]:
        future = self._asks[call, key] = self.loop.create_future()
        try:
            self.feed(self.core.ask, call, key, request)
            outcome = json.loads(await future)
        finally:
            self._asks.pop((call, key), None)
        if "error" in outcome:
            raise from_rpc(outcome["error"])
        result: dict[str, Any] = outcome["result"]
        return result

    # What the core says.

    def on_write(self, stream: int, id: int, name: str, text: bytes, until: int) -> None:
        outlet = self.outlets.get(stream)
        if outlet is not None:
            outlet.write(text)

    def on_head(self, stream: int, status: int, name: str, text: str, until: int) -> None:
        outlet = self.outlets.get(stream)
        if outlet is not None:
            outlet.head(status, text)

    def on_body(self, stream: int, id: int, name: str, text: bytes, last: int) -> None:
        outlet = self.outlets.get(stream)
        if outlet is not None:
            outlet.body(text, last == 1)
            if last:
                self.on_close(stream)

    def on_close(self, stream: int, *_: Any) -> None:
        outlet = self.outlets.pop(stream, None)
        if outlet is not None:
            outlet.close()
        self._ended(stream)

    def on_call(self, stream: int, call: int, key: str, text: str, until: int) -> None:
        context = Context(self, call, stream, key)
        self._calls[call] = (context, None)
        # In a list, so that the text is gone once it is parsed.
        given = [text]
        self.starts.append(lambda: self._start(context, call, key, given))

    def _start(self, context: Context, call: int, key: str, given: list[str]) -> None:
        if call in self._calls:
            task = self._spawn(self._run(context, call, key, given))
            if task is None:
                return
            if call in self._calls:
                self._calls[call] = (context, task)
            elif context.cancelled:  # meanwhile, by what its first step did
                task.cancel()

    def on_answer(self, stream: int, call: int, key: str, text: str, until: int) -> None:
        future = self._asks.get((call, key))
        if future is not None and not future.done():
            future.set_result(text)

    def on_cancelled(self, stream: int, call: int, name: str, reason: str, until: int) -> None:
        context, task = self._calls.pop(call, (None, None))
        if context is not None:
            context.cancelled = True
        if task is not None:
            task.cancel(reason)
        for key, future in list(self._asks.items()):
            if key[0] == call:  # a thread may wait for it
                future.cancel()

    def on_violation(self, stream: int, id: int, code: str, message: str, until: int) -> None:
        import logging

        logging.getLogger("mcp_keel").debug("a client broke a rule: %s: %s", code, message)

    async def _run(self, context: Context, call: int, key: str, given: list[str]) -> None:
        try:
            handler = self._handlers.get(key)
            if handler is None:
                raise McpError(INTERNAL_ERROR, f"no handler for {key}")
            outcome = f'{{"result":{await handler(context, parse(given.pop()))}}}'
        except asyncio.CancelledError:
            if context.cancelled:
                return
            outcome = failure(INTERNAL_ERROR, "the handler was cancelled")
        except (McpError, PeerError) as error:
            outcome = failure(error.rpc_code, error.message, error.data)
        except InvalidError as error:
            outcome = failure(INVALID_PARAMS, words(error))
        except (Exception, SystemExit) as error:
            log_failure(key, error)
            outcome = failure(INTERNAL_ERROR, words(error))
        if self._calls.pop(call, None) is None:
            return  # cancelled: nobody waits for it
        answer = handed(outcome)
        del outcome
        try:
            self.feed(self.core.respond, call, answer)
        except (UsageError, UnicodeEncodeError) as error:
            # Text that no JSON can carry, or more than the limits allow: still one answer.
            log_failure(key, error)
            self.feed(self.core.respond, call, failure(INTERNAL_ERROR, f"bad result: {type(error).__name__}"))


def log_failure(name: str, error: BaseException) -> None:
    import logging

    logging.getLogger("mcp_keel").error("%s failed", name, exc_info=error)
