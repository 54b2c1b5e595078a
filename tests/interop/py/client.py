"""The fixture's client on the official Python SDK: runs the checks against a server, one JSON line for each."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult, Implementation, PromptReference
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS

TOOLS = {"echo", "add", "count", "ask_name", "slow", "fail", "chatty"}


class Failed(Exception):
    """A check that did not hold."""


def same(got: Any, wanted: Any) -> None:
    if got != wanted:
        raise Failed(f"got {got!r}, wanted {wanted!r}")


class Tapped:
    """One direction of a transport, watched message by message."""

    def __init__(self, stream: Any, seen: Callable[[Any], None]) -> None:
        self.stream, self.seen = stream, seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    async def __aenter__(self) -> Tapped:
        await self.stream.__aenter__()
        return self

    async def __aexit__(self, *why: Any) -> Any:
        return await self.stream.__aexit__(*why)

    def __aiter__(self) -> Tapped:
        return self

    async def __anext__(self) -> Any:
        item = await self.stream.__anext__()
        self.seen(item)
        return item

    async def send(self, item: Any) -> None:
        await self.stream.send(item)
        self.seen(item)


class Checks:
    """The checks in their order; each is one method."""

    def __init__(self, transport: Any, era: str, verbose: bool) -> None:
        self.era, self.verbose = era, verbose
        self.sent = anyio.Event()
        self.held = AsyncExitStack()
        self.client = Client(
            self.tapped(transport),
            mode=LATEST_MODERN_VERSION if era == "modern" else era,
            client_info=Implementation(name="keel-interop-client", version="1.0.0"),
            elicitation_callback=self.elicited,
        )

    @asynccontextmanager
    async def tapped(self, transport: Any):  # type: ignore[no-untyped-def]
        async with transport as (read, write):
            yield Tapped(read, self.incoming), Tapped(write, self.outgoing)

    def tell(self, arrow: str, item: Any) -> str:
        message = getattr(item, "message", None)
        text = message.model_dump_json(by_alias=True, exclude_none=True) if message else str(item)
        if self.verbose:
            print(arrow, text, file=sys.stderr, flush=True)
        return text

    def incoming(self, item: Any) -> None:
        self.tell("<", item)

    def outgoing(self, item: Any) -> None:
        if '"slow"' in self.tell(">", item):
            self.sent.set()

    async def elicited(self, context: Any, params: Any) -> ElicitResult:
        same(params.message, "What is your name?")
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def call(self, name: str, **arguments: Any) -> Any:
        return await self.client.call_tool(name, arguments)

    async def connect(self) -> None:
        await self.held.enter_async_context(self.client)
        if self.era != "auto":
            same(self.client.protocol_version in MODERN_PROTOCOL_VERSIONS, self.era == "modern")

    async def tools(self) -> None:
        found = {tool.name for tool in (await self.client.list_tools()).tools}
        if not TOOLS <= found:
            raise Failed(f"missing {sorted(TOOLS - found)}")

    async def echo(self) -> None:
        text = 'grüß 🦀 \u0000\n"'
        same((await self.call("echo", text=text)).content[0].text, text)

    async def big(self) -> None:
        result = await self.call("add", a=9007199254740993, b=1)
        same(result.structured_content, {"result": 9007199254740994})

    async def progress(self) -> None:
        seen: list[Any] = []

        async def told(progress: float, total: float | None, message: str | None) -> None:
            seen.append((progress, total, message))

        result = await self.client.call_tool("count", {"to": 3}, progress_callback=told)
        same(seen, [(step, 3, f"step {step}") for step in (1, 2, 3)])
        same(result.content[0].text, "counted to 3")

    async def elicitation(self) -> None:
        same((await self.call("ask_name")).content[0].text, "Hello, Ada!")

    async def resource(self) -> None:
        same((await self.client.read_resource("memo://greeting")).contents[0].text, "Hello from the fixture")

    async def template(self) -> None:
        same((await self.client.read_resource("memo://item/7")).contents[0].text, "item 7")

    async def prompt(self) -> None:
        messages = (await self.client.get_prompt("greet", {"name": "Ada"})).messages
        same([(message.role, message.content.text) for message in messages], [("user", "Please greet Ada.")])

    async def completion(self) -> None:
        ref = PromptReference(type="ref/prompt", name="greet")
        found = await self.client.complete(ref, {"name": "name", "value": "a"})
        same(found.completion.values, ["ada", "alan"])

    async def error(self) -> None:
        try:
            result = await self.call("nope")
        except MCPError as error:
            same(error.code, -32602)
        else:
            raise Failed(f"an unknown tool gave {result!r}")

    async def tool_error(self) -> None:
        result = await self.call("fail")
        same(result.is_error, True)
        if "it failed" not in result.content[0].text:
            raise Failed(result.content[0].text)

    async def cancel(self) -> None:
        ended = []

        async def slow() -> None:
            ended.append((await self.call("slow", ms=60000)).content[0].text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(slow)
            await self.sent.wait()
            tasks.cancel_scope.cancel()
        same(ended, [])
        same((await self.call("echo", text="after")).content[0].text, "after")

    async def close(self) -> None:
        await self.held.aclose()

    async def run(self) -> bool:
        fine = True
        order: list[Callable[[], Awaitable[None]]] = [
            *(self.connect, self.tools, self.echo, self.big, self.progress, self.elicitation, self.resource),
            *(self.template, self.prompt, self.completion, self.error, self.tool_error, self.cancel, self.close),
        ]
        for check in order:
            line: dict[str, Any] = {"check": check.__name__, "ok": True}  # type: ignore[attr-defined]
            try:
                # `connect` and `close` hold task groups of the SDK, which no other scope may enclose.
                if check in (self.connect, self.close):
                    await check()
                else:
                    with anyio.fail_after(1 if check == self.cancel else 10):
                        await check()
            except Exception as error:
                line.update(ok=False, error=f"{type(error).__name__}: {error}")
                fine = False
            print(json.dumps(line, ensure_ascii=False), flush=True)
            if check == self.connect and not fine:
                break
        return fine


async def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=["legacy", "modern", "auto"], default="auto")
    parser.add_argument("--verbose", action="store_true")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--http", metavar="URL")
    way.add_argument("--stdio", action="store_true")
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    if options.http:
        transport = streamable_http_client(options.http)
    else:
        # The SDK would start the server without most of this environment.
        command, *args = options.command
        transport = stdio_client(StdioServerParameters(command=command, args=args, env=dict(os.environ)))
    return 0 if await Checks(transport, options.era, options.verbose).run() else 1


if __name__ == "__main__":
    sys.exit(anyio.run(main))
