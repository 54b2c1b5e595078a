"""The fixture's server on the official Python SDK: `server.py --stdio` or `server.py --http PORT`."""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
from typing import Annotated, Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import Completion
from pydantic import BaseModel, Field

server = MCPServer("keel-fixture", version="1.0.0", log_level="CRITICAL")


@server.tool(structured_output=False)
async def echo(text: str) -> str:
    """Gives back the text."""
    return text


class Sum(BaseModel):
    result: int


@server.tool()
async def add(a: int, b: int) -> Sum:
    """Adds two integers."""
    return Sum(result=a + b)


@server.tool(structured_output=False)
async def count(to: Annotated[int, Field(ge=1)], ctx: Context) -> str:
    """Counts, and tells how far it is."""
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, f"step {step}")
    return f"counted to {to}"


class Person(BaseModel):
    name: str


def question() -> Elicit[Person]:
    return Elicit("What is your name?", Person)


@server.tool(structured_output=False)
async def ask_name(answer: Annotated[ElicitationResult[Person], Resolve(question)]) -> str:
    """Asks for a name and greets."""
    return f"Hello, {answer.data.name}!" if isinstance(answer, AcceptedElicitation) else "No name given"


@server.tool(structured_output=False)
async def slow(ms: int) -> str:
    """Waits, and may be cancelled."""
    await asyncio.sleep(ms / 1000)
    return "done"


@server.tool(structured_output=False)
async def fail() -> str:
    """Always fails."""
    raise ToolError("it failed")


@server.tool(structured_output=False)
async def chatty(ctx: Context) -> str:
    """Says three things on the way."""
    for word in ("one", "two", "three"):
        await ctx.info(word)
    return "logged"


@server.resource("memo://greeting", name="greeting", mime_type="text/plain")
async def greeting() -> str:
    return "Hello from the fixture"


@server.resource("memo://item/{id}", name="item", mime_type="text/plain")
async def item(id: str) -> str:
    return f"item {id}"


@server.prompt()
async def greet(name: str) -> str:
    """Asks for a greeting."""
    return f"Please greet {name}."


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> Completion | None:
    if getattr(ref, "name", None) != "greet" or argument.name != "name":
        return None
    return Completion(values=[name for name in ("ada", "alan", "grace") if name.startswith(argument.value)])


class Announced(uvicorn.Server):
    """Says where it listens once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if sockets and self.started:
            print(f"listening {sockets[0].getsockname()[1]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--stdio", action="store_true")
    way.add_argument("--http", type=int, metavar="PORT")
    options = parser.parse_args()
    if options.stdio:
        server.run()
        return
    # A socket of our own, because the port may be 0 and has to be told.
    listener = socket.create_server(("127.0.0.1", options.http))
    config = uvicorn.Config(server.streamable_http_app(), log_level="critical", timeout_graceful_shutdown=1)
    Announced(config).run(sockets=[listener])


if __name__ == "__main__":
    sys.exit(main())
