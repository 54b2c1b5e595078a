"""The client for programs without an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .client import CallResult, Client
from .errors import UsageError
from .types import (
    CompletionValues,
    Implementation,
    Prompt,
    PromptResult,
    Resource,
    ResourceContents,
    ResourceTemplate,
    Tool,
)

if TYPE_CHECKING:
    from .client import _Target

T = TypeVar("T")


class SyncClient:
    """`Client` for programs without an event loop: the same arguments and methods, blocking.

    The connection lives in a thread of its own; any thread may use it.
    """

    def __init__(self, target: _Target, **options: Any) -> None:
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
        self._wait(self._end())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    async def _end(self) -> None:
        await self._client.close()
        # Other threads hear how their requests ended before the loop stops.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            _, late = await asyncio.wait(others, timeout=2)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

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
