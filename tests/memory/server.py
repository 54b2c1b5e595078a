"""A server whose tools take and give long texts: what they cost is measured from outside."""

from __future__ import annotations

from mcp_keel import Server

UNIT = 'The café\'s "daily" menu:\tsoup, bread and water.\n'

server = Server("memory", version="1")


@server.tool(output_schema=None)
async def take(text: str):  # type: ignore[no-untyped-def]
    return str(len(text))


@server.tool
async def give(units: int):  # type: ignore[no-untyped-def]
    return UNIT * units


server.run()
