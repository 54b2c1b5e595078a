"""A client that calls tools which take and give long texts, when told to on standard input: `take UNITS`, `give UNITS`.

Prints how many characters arrived.
"""

from __future__ import annotations

import asyncio
import sys

from mcp_keel import Client

UNIT = 'The café\'s "daily" menu:\tsoup, bread and water.\n'


async def main() -> None:
    loop = asyncio.get_running_loop()
    async with Client(sys.argv[1:], limits={"messageBytes": 64 << 20}) as client:
        print("ready", flush=True)
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            tool, units = line.split()
            if tool == "take":
                print((await client.call_tool("take", {"text": UNIT * int(units)})).text, flush=True)
            else:
                print(len((await client.call_tool("give", {"units": int(units)})).text), flush=True)


asyncio.run(main())
