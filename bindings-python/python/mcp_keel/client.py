"""Clients: `Client` for asyncio, `SyncClient` for programs without an event loop."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from ._native import FlatClient, NativeError, __version__
from .driver import Pump, threads
from .errors import Disconnected, KeelError, McpError, UsageError, from_record
from .links import Child, Memory, Trace, describe
from .schema import encode
from .types import (
    CompletionValues,
    ContentBlock,
    Implementation,
    LogLevel,
    Prompt,
    PromptResult,
    Resource,
    ResourceContents,
    ResourceTemplate,
    Root,
    Tool,
)

if TYPE_CHECKING:
    from .server import Server

T = TypeVar("T")
Target = "str | os.PathLike[str] | Sequence[str] | Mapping[str, Any] | Server"
Progress = Callable[[dict[str, Any]], object]


class CallResult:
    """What a tool call gave."""

    def __init__(self, result: dict[str, Any]) -> None:
        self.content: list[ContentBlock] = result.get("content", [])
        self.structured: Any = result.get("structuredContent")
        self.is_error: bool = result.get("isError", False)
        self.meta: dict[str, Any] = result.get("_meta", {})

    @property
    def text(self) -> str:
        """All text blocks, one after the other."""
        return "\n".join(block["text"] for block in self.content if block["type"] == "text")

    @property
    def data(self) -> Any:
        """The structured content, or what is in it when that is one `result`; else the text."""
        found = self.structured
        if isinstance(found, dict) and found.keys() == {"result"}:
            return found["result"]
        return self.text if found is None else found

    def __repr__(self) -> str:
        return f"CallResult(is_error={self.is_error}, data={self.data!r})"


class Machine(Pump):
    """One connection of a client: the core object, its link, and who waits for what."""

    def __init__(self, client: Client, config: dict[str, Any], loop: asyncio.AbstractEventLoop) -> None:
        try:
            core = FlatClient(encode(config), os.urandom(32))
        except NativeError as error:
            raise UsageError(str(error), code=error.code) from None
        super().__init__(core, loop)
        self.link: Any = None
        self.pool: Any = None
        self.ready: asyncio.Future[dict[str, Any]] = loop.create_future()
        self.closed: asyncio.Future[Disconnected] = loop.create_future()
        self.listeners: set[asyncio.Queue[Any]] = set()
        self._client = client
        self._handles = 0
        self._pending: dict[int, tuple[asyncio.Future[str], Callable[[Any], None] | None]] = {}
        self._inputs: dict[int, asyncio.Task[None]] = {}
        self._told: dict[Any, asyncio.Task[None]] = {}
        self._bodies: dict[int, tuple[Trace, Callable[[bytes], None]]] = {}
        self._sent = self._received = None
        if client._trace is not None:
            self._sent, self._received = Trace(client._trace, ">"), Trace(client._trace, "<")

    async def request(
        self, method: str, params: Any, options: dict[str, Any], progress: Progress | None
    ) -> dict[str, Any]:
        self._handles += 1
        handle = self._handles
        if self.link is not None:
            await self.link.outlet.drained()
        future: asyncio.Future[str] = self.loop.create_future()
        tell = None if progress is None else lambda told: self.tell(handle, progress, told)
        self._pending[handle] = (future, tell)
        try:
            self.feed(self.core.request, handle, method, encode(params), encode(options))
            text = await future
            if handle in self._told:
                await asyncio.wait([self._told[handle]])
        except asyncio.CancelledError:
            if self._pending.pop(handle, None) is not None:
                self.feed(self.core.cancel, handle, "the caller no longer waits")
            raise
        finally:
            self._pending.pop(handle, None)
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
        if self._received is not None:
            self._received.lines(data)
        self.feed(self.core.receive, data)

    def ended(self, reason: str) -> None:
        if not self.closed.done():
            self.feed(self.core.ended, reason)

    def response(self, stream: int, status: int, headers: str) -> None:
        if self._client._trace is not None:
            trace = Trace(self._client._trace, "<")
            streamed = "text/event-stream" in headers.lower()
            self._bodies[stream] = (trace, trace.events if streamed else trace.part)
        self.feed(self.core.response, stream, status, headers)

    def body(self, stream: int, data: bytes) -> None:
        if stream in self._bodies:
            self._bodies[stream][1](data)
        self.feed(self.core.body, stream, data)

    def end(self, stream: int) -> None:
        if stream in self._bodies:
            self._bodies.pop(stream)[0].end()
        self.feed(self.core.end, stream)

    def failed(self, stream: int, reason: str) -> None:
        self._bodies.pop(stream, None)
        self.feed(self.core.failed, stream, reason)

    # What the core says.

    def on_write(self, stream: int, id: int, name: str, text: bytes, until: int) -> None:
        if self._sent is not None:
            self._sent.lines(text)
        self.link.outlet.write(text)

    def on_fetch(self, stream: int, id: int, method: str, text: str, until: int) -> None:
        if self._sent is not None:
            self._sent.message((json.loads(text).get("body") or "").encode())
        self.pool.fetch(stream, method, text)

    def on_abort(self, stream: int, *_: Any) -> None:
        self._bodies.pop(stream, None)
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

    def on_notice(self, stream: int, id: int, method: str, text: str, until: int) -> None:
        params = json.loads(text or "{}")
        for queue in self.listeners:
            queue.put_nowait((method, params))
        if self._client._on_notice is not None:
            self.tell("notice", self._client._on_notice, method, params)

    def on_input(self, stream: int, token: int, method: str, text: str, until: int) -> None:
        task = self.loop.create_task(self._answer(token, method, text))
        self._inputs[token] = task
        task.add_done_callback(lambda _: self._inputs.pop(token, None))

    def on_input_cancelled(self, stream: int, token: int, *_: Any) -> None:
        task = self._inputs.pop(token, None)
        if task is not None:
            task.cancel()

    async def _answer(self, token: int, method: str, text: str) -> None:
        try:
            outcome = {"result": await self._client._input(method, json.loads(text or "{}"))}
        except McpError as error:
            outcome = {"error": {"code": error.rpc_code, "message": error.message}}
        except Exception as error:
            self.report(f"while answering {method!r}", error)
            outcome = {"error": {"code": -32603, "message": str(error) or type(error).__name__}}
        self.feed(self.core.answer, token, encode(outcome))

    def on_violation(self, stream: int, id: int, code: str, message: str, until: int) -> None:
        import logging

        logging.getLogger("mcp_keel").warning("the server broke a rule: %s: %s", code, message)

    def on_close(self, *_: Any) -> None:
        if self.link is not None:
            self.link.close_input()

    def on_closed(self, stream: int, id: int, code: str, message: str, until: int) -> None:
        error = Disconnected(message, code=code or None)
        if not self.closed.done():
            self.closed.set_result(error)
        if not self.ready.done():
            self.ready.set_exception(error)

    async def shut(self) -> None:
        """Ends the connection, bounded in time, whatever state it is in."""
        if not self.closed.done():
            self.feed(self.core.close)
            await asyncio.wait([self.closed], timeout=2)
        if self.link is not None:
            await self.link.stop()
        if self.pool is not None:
            self.pool.close()
        self.stop()
        for task in list(self._inputs.values()):
            task.cancel()
        for queue in self.listeners:
            queue.put_nowait(None)
        for future, _ in self._pending.values():
            if not future.done():
                future.set_exception(Disconnected("the client was closed"))
        if not self.ready.done():
            self.ready.set_exception(Disconnected("the client was closed"))
            self.ready.exception()


class Client:
    """A connection to one server, opened by `async with` or `connect`.

    `target` is a URL, a command (list or line), a path, a description as in configuration files
    (`{"command", "args", "env", "cwd"}` or `{"url", "headers"}`), or a `Server` in this process.

    `on_elicit(params)` gives the content of the form (accepted), True (accepted, no content), None
    (declined) or False (dismissed). `on_sample(params)` gives a text or a whole result. `roots` are
    paths, uris or root dicts, or a function that gives them. Handlers may be async; plain ones run in
    a worker thread. `trace(direction, text)` sees every message, ">" sent and "<" received.
    Times are seconds.
    """

    def __init__(
        self,
        target: Any,
        *,
        mode: Literal["auto", "legacy", "modern"] = "auto",
        revision: str | None = None,
        timeout: float = 60.0,
        on_elicit: Callable[[dict[str, Any]], Any] | None = None,
        on_sample: Callable[[dict[str, Any]], Any] | None = None,
        roots: Sequence[Any] | Callable[[], Any] | None = None,
        on_notice: Callable[[str, dict[str, Any]], object] | None = None,
        on_stderr: Callable[[str], None] | None = None,
        trace: Callable[[str, str], object] | None = None,
        log_level: LogLevel | None = None,
        headers: Mapping[str, str] | None = None,
        capabilities: Mapping[str, Any] | None = None,
        info: Implementation | None = None,
        ssl: Any = None,
        **config: Any,
    ) -> None:
        self._target = target
        self._on_notice = on_notice
        self._on_stderr = on_stderr
        self._trace = trace
        self._log_level = log_level
        self._ssl = ssl
        self._handlers = {
            "elicitation/create": None if on_elicit is None else lambda params: _elicited(on_elicit, params),
            "sampling/createMessage": None if on_sample is None else lambda params: _sampled(on_sample, params),
            "roots/list": None if roots is None else lambda _: _rooted(roots),
        }
        able = (("elicitation", on_elicit), ("sampling", on_sample), ("roots", roots))
        self._config: dict[str, Any] = {
            "info": info or {"name": "mcp-keel", "version": __version__},
            "capabilities": {**{name: {} for name, handler in able if handler is not None}, **(capabilities or {})},
            "mode": mode,
            "timeoutMs": round(timeout * 1000),
            **({} if revision is None else {"revision": revision}),
            **config,
        }
        self._headers = dict(headers or {})
        self._machine: Machine | None = None
        self._closing: asyncio.Task[None] | None = None
        self._opened: dict[str, Any] = {}

    # Life.

    async def connect(self) -> Client:
        """Opens the connection. Disconnected, with the reason, when that is not possible."""
        if self._machine is not None:
            raise UsageError("a client connects once")
        loop = asyncio.get_running_loop()
        server = self._target if hasattr(self._target, "serve_pipe") else None
        described = {} if server is not None else describe(self._target)
        config = {**self._config, "link": "http" if "url" in described else "pipe"}
        if "url" in described:
            config["url"] = described["url"]
            config["headers"] = {**described.get("headers", {}), **self._headers}
        machine = self._machine = Machine(self, config, loop)
        try:
            if "url" in described:
                from .http import Pool

                machine.pool = Pool(machine, self._ssl)
            else:
                made = Memory(machine, server) if server is not None else Child(machine, described, self._on_stderr)
                machine.link = made
                await made.start()
            machine.feed(machine.core.start)
            self._opened = await machine.ready
        except BaseException:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """Ends the connection; what still waits gets Disconnected. Any task may call it, any number of times."""
        if self._machine is not None:
            if self._closing is None:
                self._closing = asyncio.get_running_loop().create_task(self._machine.shut())
            await asyncio.shield(self._closing)

    async def __aenter__(self) -> Client:
        return await self.connect()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def revision(self) -> str:
        """The revision of the protocol that is spoken."""
        return cast(str, self._opened["revision"])

    @property
    def era(self) -> Literal["legacy", "modern"]:
        return cast(Any, self._opened["era"])

    @property
    def server_info(self) -> Implementation | None:
        return cast("Implementation | None", self._opened["server"])

    @property
    def server_capabilities(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self._opened["capabilities"])

    @property
    def instructions(self) -> str | None:
        return cast("str | None", self._opened["instructions"])

    # Requests. Each raises PeerError, RequestTimeout, Disconnected, InvalidError or LimitError.

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        max_timeout: float | None = None,
        progress: Progress | None = None,
        meta: Mapping[str, Any] | None = None,
        log_level: LogLevel | None = None,
        every_page: bool = False,
    ) -> dict[str, Any]:
        """Any request. Cancelling the task that awaits it cancels it at the server.

        `timeout` begins anew with each progress; `max_timeout` does not.
        """
        if self._machine is None:
            raise UsageError("not connected")
        options = {
            "timeoutMs": None if timeout is None else round(timeout * 1000),
            "maxTimeoutMs": None if max_timeout is None else round(max_timeout * 1000),
            "progress": True if progress is not None else None,
            "all": every_page or None,
            "logLevel": log_level or self._log_level,
            "meta": meta,
        }
        given = {name: value for name, value in options.items() if value is not None}
        return await self._machine.request(method, params or {}, given, progress)

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> CallResult:
        """Calls a tool. A failed tool is a result with `is_error`. Options are those of `request`."""
        return CallResult(await self.request("tools/call", {"name": name, "arguments": arguments or {}}, **options))

    async def list_tools(self, **options: Any) -> list[Tool]:
        return cast("list[Tool]", await self._all("tools/list", "tools", options))

    async def list_resources(self, **options: Any) -> list[Resource]:
        return cast("list[Resource]", await self._all("resources/list", "resources", options))

    async def list_resource_templates(self, **options: Any) -> list[ResourceTemplate]:
        found = await self._all("resources/templates/list", "resourceTemplates", options)
        return cast("list[ResourceTemplate]", found)

    async def list_prompts(self, **options: Any) -> list[Prompt]:
        return cast("list[Prompt]", await self._all("prompts/list", "prompts", options))

    async def _all(self, method: str, member: str, options: dict[str, Any]) -> Any:
        return (await self.request(method, every_page=True, **options))[member]

    async def read_resource(self, uri: str, **options: Any) -> list[ResourceContents]:
        result = await self.request("resources/read", {"uri": uri}, **options)
        return cast("list[ResourceContents]", result["contents"])

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None, **options: Any) -> PromptResult:
        params = {"name": name, "arguments": arguments or {}}
        return cast(PromptResult, await self.request("prompts/get", params, **options))

    async def complete(
        self,
        ref: str | Mapping[str, Any],
        argument: str,
        value: str,
        context: Mapping[str, str] | None = None,
        **options: Any,
    ) -> CompletionValues:
        """Completes an argument of a prompt (`ref` is its name) or of another reference."""
        named = {"type": "ref/prompt", "name": ref} if isinstance(ref, str) else ref
        params: dict[str, Any] = {"ref": named, "argument": {"name": argument, "value": value}}
        if context is not None:
            params["context"] = {"arguments": context}
        return cast(CompletionValues, (await self.request("completion/complete", params, **options))["completion"])

    async def ping(self, **options: Any) -> None:
        """Asks whether the server is there. UsageError where the revision has no such request."""
        await self.request("ping", **options)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Sends a notification, for example `notifications/roots/list_changed`."""
        if self._machine is None:
            raise UsageError("not connected")
        self._machine.feed(self._machine.core.notify, method, encode(params or {}))

    async def listen(
        self, *, tools: bool = False, prompts: bool = False, resources: bool = False, uris: Sequence[str] = ()
    ) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """Notifications about changed lists and about the resources in `uris`, as (method, params).

        Ends when the server ends it, or with the loop over it.
        """
        asked = {"toolsListChanged": tools, "promptsListChanged": prompts, "resourcesListChanged": resources}
        wanted: dict[str, Any] = {name: True for name, value in asked.items() if value}
        if uris:
            wanted["resourceSubscriptions"] = list(uris)
        if self._machine is None:
            raise UsageError("not connected")
        queue: asyncio.Queue[tuple[str, dict[str, Any]] | None] = asyncio.Queue()
        self._machine.listeners.add(queue)
        task = asyncio.ensure_future(self.request("subscriptions/listen", {"notifications": wanted}))
        task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (notice := await queue.get()) is not None:
                yield notice
            await task
        finally:
            self._machine.listeners.discard(queue)
            task.cancel()

    async def _input(self, method: str, params: dict[str, Any]) -> Any:
        handler = self._handlers.get(method)
        if handler is None:
            raise McpError(-32601, f"no handler for {method}")
        return await handler(params)


async def _user(handler: Callable[..., Any], *args: Any) -> Any:
    if inspect.iscoroutinefunction(handler):
        return await handler(*args)
    value = await threads.run(lambda: handler(*args))  # it may ask at a console
    return await value if inspect.isawaitable(value) else value


async def _elicited(handler: Callable[..., Any], params: dict[str, Any]) -> Any:
    content = await _user(handler, params)
    if content is None or content is False:
        return {"action": "decline" if content is None else "cancel"}
    return {"action": "accept"} if content is True else {"action": "accept", "content": content}


async def _sampled(handler: Callable[..., Any], params: dict[str, Any]) -> Any:
    result = await _user(handler, params)
    if isinstance(result, str):
        return {"role": "assistant", "content": {"type": "text", "text": result}, "model": "unknown"}
    return result


async def _rooted(roots: Any) -> dict[str, list[Root]]:
    listed = await _user(roots) if callable(roots) else roots
    return {"roots": [_root(root) for root in listed]}


def _root(root: Any) -> Root:
    if isinstance(root, Mapping):
        return cast(Root, dict(root))
    if isinstance(root, str) and "://" in root:
        return {"uri": root}
    from pathlib import Path

    path = Path(root).absolute()
    return {"uri": path.as_uri(), "name": path.name}


class SyncClient:
    """`Client` for programs without an event loop: the same arguments and methods, blocking.

    The connection lives in a thread of its own; any thread may use it.
    """

    def __init__(self, target: Any, **options: Any) -> None:
        self._client = Client(target, **options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def connect(self) -> SyncClient:
        if self._loop is not None:
            raise UsageError("a client connects once")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mcp_keel", daemon=True)
        self._thread.start()
        try:
            self._wait(self._client.connect())
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._thread = None
        self._wait(self._client.close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def __enter__(self) -> SyncClient:
        return self.connect()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None or self._loop.is_closed():
            work.close()
            raise UsageError("not connected")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # KeyboardInterrupt cancels the request
            raise

    @property
    def revision(self) -> str:
        return self._client.revision

    @property
    def era(self) -> Literal["legacy", "modern"]:
        return self._client.era

    @property
    def server_info(self) -> Implementation | None:
        return self._client.server_info

    @property
    def server_capabilities(self) -> dict[str, Any]:
        return self._client.server_capabilities

    @property
    def instructions(self) -> str | None:
        return self._client.instructions

    def request(self, method: str, params: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        return self._wait(self._client.request(method, params, **options))

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> CallResult:
        return self._wait(self._client.call_tool(name, arguments, **options))

    def list_tools(self, **options: Any) -> list[Tool]:
        return self._wait(self._client.list_tools(**options))

    def list_resources(self, **options: Any) -> list[Resource]:
        return self._wait(self._client.list_resources(**options))

    def list_resource_templates(self, **options: Any) -> list[ResourceTemplate]:
        return self._wait(self._client.list_resource_templates(**options))

    def list_prompts(self, **options: Any) -> list[Prompt]:
        return self._wait(self._client.list_prompts(**options))

    def read_resource(self, uri: str, **options: Any) -> list[ResourceContents]:
        return self._wait(self._client.read_resource(uri, **options))

    def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None, **options: Any) -> PromptResult:
        return self._wait(self._client.get_prompt(name, arguments, **options))

    def complete(self, ref: str | Mapping[str, Any], argument: str, value: str, **options: Any) -> CompletionValues:
        return self._wait(self._client.complete(ref, argument, value, **options))

    def ping(self, **options: Any) -> None:
        self._wait(self._client.ping(**options))

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        async def send() -> None:
            self._client.notify(method, params)

        self._wait(send())
