"""The client for asyncio. For programs without an event loop see `sync.py`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from ._native import __version__
from .errors import UsageError
from .inputs import Inputs
from .links import Child, Memory, describe
from .machine import Machine, Progress
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
    Tool,
)

if TYPE_CHECKING:
    from .server import Server

    _Target = str | os.PathLike[str] | Sequence[str] | Mapping[str, Any] | Server


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


class Client:
    """A connection to one server, opened by `async with` or `connect`.

    `target` is a URL, a command (list or line), a path, a description as in configuration files
    (`{"command", "args", "env", "cwd"}` or `{"url", "headers"}`), or a `Server` in this process.

    `on_elicit(params)` gives the content of the form (accepted), True (accepted, no content), None
    (declined) or False (dismissed). `on_sample(params)` gives a text or a whole result. `roots` are
    paths, uris or root dicts, or a function that gives them (then they may change, see `notify`). Handlers may be async; plain ones run in
    a worker thread. `trace(direction, text)` sees every message, ">" sent and "<" received.
    Times are seconds.
    """

    def __init__(
        self,
        target: _Target,
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
        self._inputs = Inputs(on_elicit, on_sample, roots)
        self._config: dict[str, Any] = {
            "info": info or {"name": "mcp-keel", "version": __version__},
            "capabilities": {**self._inputs.capabilities, **(capabilities or {})},
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
        server = cast("Server", self._target) if hasattr(self._target, "serve_pipe") else None
        described = describe(self._target) if server is None else {}
        config = {**self._config, "link": "http" if "url" in described else "pipe"}
        if "url" in described:
            config["url"] = described["url"]
            config["headers"] = {**described.get("headers", {}), **self._headers}
        machine = self._machine = Machine(config, loop, self._inputs, self._on_notice, self._trace)
        try:
            if "url" in described:
                from .http import Pool

                machine.pool = Pool(machine, self._ssl)
            else:
                made = Memory(machine, server) if server is not None else Child(machine, described, self._on_stderr)
                machine.link = made
                await made.start()
            if not machine.closed.done():
                machine.feed(machine.core.start)
            self._opened = await machine.ready
        except BaseException:
            await self.close()
            if machine.link is not None:
                await machine.link.stop()  # closed by another task before the link was there
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
        return cast("Literal['legacy', 'modern']", self._opened["era"])

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

        Begins with the first step of the loop over it; the first notification confirms what is listened
        to. Each loop gets what it asked for. Ends when the server ends it, or with the loop.
        """
        asked = {"toolsListChanged": tools, "promptsListChanged": prompts, "resourcesListChanged": resources}
        wanted: dict[str, Any] = {name: True for name, value in asked.items() if value}
        if uris:
            wanted["resourceSubscriptions"] = list(uris)
        if self._machine is None:
            raise UsageError("not connected")
        queue: asyncio.Queue[tuple[str, dict[str, Any]] | None] = asyncio.Queue()
        options = {} if self._log_level is None else {"logLevel": self._log_level}
        listening = self._machine.request("subscriptions/listen", {"notifications": wanted}, options, notices=queue)
        task = asyncio.ensure_future(listening)
        task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (notice := await queue.get()) is not None:
                yield notice
            await task
        finally:
            task.cancel()
