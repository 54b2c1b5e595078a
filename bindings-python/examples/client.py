import asyncio
from pathlib import Path

from mcp_keel import Client


async def main() -> None:
    async with Client(Path(__file__).with_name("server.py")) as client:
        result = await client.call_tool("forecast", {"city": "Oslo"})
        print(result.data)


asyncio.run(main())
