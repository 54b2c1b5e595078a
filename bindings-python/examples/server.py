from mcp_keel import Context, Server

server = Server("weather", version="1.0")


@server.tool
async def forecast(city: str, days: int = 3, *, ctx: Context) -> dict[str, int]:
    """The highest temperature of each day."""
    await ctx.log("info", f"looking at {city}")
    return {f"day {day}": 15 + day for day in range(1, days + 1)}


server.run()
