"""A server and a client in one event loop, in both eras."""

from __future__ import annotations

import asyncio
import contextvars
import enum
import json
import logging
import threading
import uuid
from dataclasses import dataclass
from typing import Any, Optional

import pytest

from mcp_keel import (
    Cancelled,
    Client,
    Context,
    Disconnected,
    Image,
    InternalError,
    McpError,
    PeerError,
    RequestTimeout,
    Server,
    SyncClient,
    Text,
    ToolResult,
    UsageError,
)
from mcp_keel import _native as native


class Unit(enum.Enum):
    CELSIUS = "c"
    KELVIN = "k"


@dataclass
class Place:
    city: str
    country: Optional[str] = None


@dataclass
class Forecast:
    place: Place
    degrees: float
    unit: Unit


def weather() -> Server:
    server = Server("weather", version="1.0", instructions="ask for a city")

    @server.tool(title="Forecast", annotations={"readOnlyHint": True})
    async def forecast(place: Place, days: int = 3, unit: Unit = Unit.CELSIUS, *, ctx: Context) -> Forecast:
        """The weather to come."""
        assert isinstance(place, Place) and isinstance(unit, Unit) and ctx.key == "tools/call forecast"
        return Forecast(place, float(days), unit)

    @server.tool
    async def numbers(n: int) -> list[int]:
        return [n, n + 1]

    @server.tool
    async def loose(what: str) -> Any:
        values = {"text": "plain", "dict": {"a": 1}, "list": [1, {"b": 2}], "none": None, "number": 2}
        return values[what]

    @server.tool
    async def blocks() -> list[Any]:
        return [Text("look"), Image(b"\x89PNG", "image/png")]

    @server.tool
    async def whole() -> ToolResult:
        return ToolResult(["bad"], structured={"x": 1}, is_error=True, meta={"m": 1})

    @server.tool
    async def refuse() -> str:
        raise McpError(-32001, "not today", {"retry": False})

    @server.tool
    async def broken() -> str:
        raise KeyError

    @server.tool
    async def unsayable() -> str:
        return "\ud800"

    return server


def test_opening(run: Any, era: Any) -> None:
    async def main() -> None:
        async with Client(weather(), mode=era) as client:
            assert client.era == era
            assert client.server_info is not None and client.server_info["name"] == "weather"
            assert client.instructions == "ask for a city"
            assert client.revision
            assert "tools" in client.server_capabilities

    run(main())


def test_tool_definition(run: Any, era: Any) -> None:
    async def main() -> None:
        async with Client(weather(), mode=era) as client:
            tools = {tool["name"]: tool for tool in await client.list_tools()}
        tool = tools["forecast"]
        assert tool["title"] == "Forecast" and tool["description"] == "The weather to come."
        assert tool["annotations"] == {"readOnlyHint": True}
        assert tool["inputSchema"]["required"] == ["place"]
        assert "ctx" not in tool["inputSchema"]["properties"]
        assert tool["outputSchema"]["properties"]["unit"]["enum"] == ["c", "k"]
        assert tools["numbers"]["outputSchema"]["properties"]["result"]["type"] == "array"
        assert "outputSchema" not in tools["loose"]

    run(main())


def test_tool_results(run: Any, era: Any) -> None:
    async def main() -> None:
        async with Client(weather(), mode=era) as client:
            result = await client.call_tool("forecast", {"place": {"city": "Oslo"}, "unit": "k"})
            wanted = {"place": {"city": "Oslo", "country": None}, "degrees": 3.0, "unit": "k"}
            assert result.data == result.structured == wanted and json.loads(result.text) == wanted
            result = await client.call_tool("numbers", {"n": 2**60})
            assert result.data == [2**60, 2**60 + 1] and result.structured == {"result": result.data}
            assert (await client.call_tool("loose", {"what": "text"})).content == [{"type": "text", "text": "plain"}]
            assert (await client.call_tool("loose", {"what": "dict"})).data == {"a": 1}
            assert (await client.call_tool("loose", {"what": "list"})).text == '[1,{"b":2}]'
            assert (await client.call_tool("loose", {"what": "none"})).content == []
            assert (await client.call_tool("loose", {"what": "number"})).text == "2"
            result = await client.call_tool("blocks")
            assert [block["type"] for block in result.content] == ["text", "image"]
            result = await client.call_tool("whole")
            assert result.is_error and result.text == "bad" and result.structured == {"x": 1} and result.meta["m"] == 1

    run(main())


def test_failures(run: Any, era: Any, caplog: Any) -> None:
    caplog.set_level(logging.CRITICAL, "mcp_keel")

    async def main() -> None:
        async with Client(weather(), mode=era) as client:
            with pytest.raises(PeerError) as caught:
                await client.call_tool("refuse")
            assert (caught.value.rpc_code, caught.value.message, caught.value.data) == (
                -32001,
                "not today",
                {"retry": False},
            )
            result = await client.call_tool("broken")
            assert result.is_error and result.text == "KeyError"
            with pytest.raises(PeerError):
                await client.call_tool("unsayable")
            with pytest.raises(PeerError) as caught:
                await client.call_tool("nope")
            assert caught.value.rpc_code == -32602
            assert (await client.call_tool("numbers", {"n": 1})).data == [1, 2]

    run(main())


def test_resources_prompts_completion(run: Any, era: Any) -> None:
    server = Server("s")

    @server.resource("memo://text", mime_type="text/plain", description="words")
    def text() -> str:
        return "hello"

    @server.resource("memo://bytes", name="raw")
    async def raw() -> bytes:
        return b"\x00\x01"

    @server.resource("memo://json")
    async def tree() -> dict[str, int]:
        return {"a": 1}

    @server.resource("memo://item/{number}")
    async def item(number: int, ctx: Context) -> str:
        assert isinstance(number, int)
        return f"item {number}"

    @server.prompt(title="Greeting")
    async def greet(name: str, loud: bool = False) -> list[Any]:
        """Greets."""
        return ["hi " + name, {"role": "assistant", "content": {"type": "text", "text": "!" if loud else "."}}]

    @server.completion
    async def complete(ref: Any, argument: Any, context: Any) -> list[str]:
        return [ref["name"] + argument["value"]] + ([context["arguments"]["x"]] if context else [])

    async def main() -> None:
        async with Client(server, mode=era) as client:
            assert {r["name"] for r in await client.list_resources()} == {"text", "raw", "tree"}
            assert [t["uriTemplate"] for t in await client.list_resource_templates()] == ["memo://item/{number}"]
            (read,) = await client.read_resource("memo://text")
            assert read == {"uri": "memo://text", "mimeType": "text/plain", "text": "hello"}
            assert (await client.read_resource("memo://bytes"))[0]["blob"] == "AAE="
            assert json.loads((await client.read_resource("memo://json"))[0]["text"]) == {"a": 1}
            assert (await client.read_resource("memo://item/7"))[0]["text"] == "item 7"
            (prompt,) = await client.list_prompts()
            assert prompt["title"] == "Greeting" and prompt["description"] == "Greets."
            assert [a["name"] for a in prompt["arguments"]] == ["name", "loud"]
            got = await client.get_prompt("greet", {"name": "Ada", "loud": "true"})
            assert [m["content"]["text"] for m in got["messages"]] == ["hi Ada", "!"]  # type: ignore[typeddict-item]
            assert (await client.complete("greet", "name", "v"))["values"] == ["greetv"]
            assert (await client.complete("greet", "name", "v", {"x": "y"}))["values"] == ["greetv", "y"]

    run(main())


def asking() -> Server:
    server = Server("asking")

    @server.tool
    async def survey(ctx: Context) -> str:
        first = await ctx.elicit("Where?", Place)
        second = await ctx.elicit("How many?", int)
        if not first or not second:
            return f"{first.action}, {second.action}"
        assert isinstance(first.data, Place)
        return f"{first.data.city} {second.data}"

    @server.tool
    def blocking(ctx: Context) -> str:
        ctx.progress(1, 2)
        answer = ctx.wait(ctx.elicit("Where?", Place))
        return f"{answer.data.city if answer.data else None} {ctx.info['client']['name']}"  # type: ignore[index]

    @server.tool
    async def model(ctx: Context) -> str:
        result = await ctx.sample("Say it", max_tokens=5, systemPrompt="short")
        return str(result["content"]["text"])

    @server.tool
    async def folders(ctx: Context) -> str:
        return " ".join(root["uri"] for root in await ctx.roots())

    return server


def test_the_user_is_asked(run: Any, era: Any) -> None:
    asked: list[Any] = []

    async def on_elicit(params: dict[str, Any]) -> Any:
        asked.append((params["message"], params["requestedSchema"]["properties"].keys()))
        return {"city": "Oslo"} if params["message"] == "Where?" else {"value": 3}

    def on_sample(params: dict[str, Any]) -> str:
        assert params["maxTokens"] == 5 and params["systemPrompt"] == "short"
        return "it"

    async def main() -> None:
        async with Client(
            asking(), mode=era, on_elicit=on_elicit, on_sample=on_sample, roots=["/tmp", "file:///x"]
        ) as client:
            assert (await client.call_tool("survey")).text == "Oslo 3"
            assert asked == [("Where?", {"city", "country"}), ("How many?", {"value"})]
            assert (await client.call_tool("blocking")).text == "Oslo mcp-keel"
            assert (await client.call_tool("model")).text == "it"
            assert (await client.call_tool("folders")).text == "file:///tmp file:///x"

    run(main())


@pytest.mark.parametrize(("answer", "action"), [(None, "decline"), (False, "cancel")])
def test_the_user_does_not_answer(run: Any, era: Any, answer: Any, action: str) -> None:
    async def main() -> None:
        async with Client(asking(), mode=era, on_elicit=lambda params: answer) as client:
            assert (await client.call_tool("survey")).text == f"{action}, {action}"

    run(main())


def test_nobody_can_be_asked(run: Any, era: Any) -> None:
    async def main() -> None:
        async with Client(asking(), mode=era) as client:
            for tool in ("survey", "blocking"):
                with pytest.raises(PeerError) as caught:
                    await client.call_tool(tool)
                if era == "modern":
                    assert caught.value.rpc_code == -32021
                    assert caught.value.data == {"requiredCapabilities": {"elicitation": {}}}

    run(main())


def test_what_the_client_refuses_ends_the_call(run: Any, era: Any, caplog: Any) -> None:
    caplog.set_level(logging.CRITICAL, "mcp_keel")

    def on_sample(params: dict[str, Any]) -> str:
        raise McpError(-32077, "no model today", {"retry": 5})

    server = asking()

    @server.tool
    async def careful(ctx: Context) -> str:
        try:
            await ctx.sample("Say it")
        except PeerError as refused:
            return f"{refused.rpc_code} {refused.message}"
        return "said"

    async def main() -> None:
        async with Client(server, mode=era, on_sample=on_sample) as client:
            if era == "legacy":  # the newer era has no answer that is an error
                with pytest.raises(PeerError) as caught:
                    await client.call_tool("model")
                raised = caught.value
                assert (raised.rpc_code, raised.message, raised.data) == (-32077, "no model today", {"retry": 5})
                assert (await client.call_tool("careful")).text == "-32077 no model today"

    run(main())


def test_every_failure_is_answered(run: Any, era: Any, caplog: Any) -> None:
    caplog.set_level(logging.CRITICAL, "mcp_keel")
    server = Server("failing")

    @server.tool
    async def leave() -> str:
        raise SystemExit("bye")

    @server.tool
    def leave_thread() -> str:
        raise SystemExit("bye")

    @server.tool
    async def bad_data() -> str:
        raise McpError(-32001, "no", object())

    @server.tool
    async def surrogate() -> str:
        raise ValueError("\ud800")

    @server.tool
    async def typed(at: uuid.UUID) -> str:
        return str(at)

    @server.prompt
    async def dated(at: uuid.UUID) -> str:
        return str(at)

    async def main() -> None:
        async with Client(server, mode=era, timeout=5) as client:
            for tool in ("leave", "leave_thread"):
                result = await client.call_tool(tool)
                assert result.is_error and result.text == "bye"
            for tool, code in (("bad_data", -32001), ("surrogate", -32603)):
                with pytest.raises(PeerError) as caught:
                    await client.call_tool(tool)
                assert caught.value.rpc_code == code
            result = await client.call_tool("typed", {"at": "?"})
            assert result.is_error and result.text.startswith("invalid arguments: at: ")
            with pytest.raises(PeerError) as caught:
                await client.get_prompt("dated", {"at": "?"})
            assert caught.value.rpc_code == -32602 and caught.value.message.startswith("invalid arguments: at: ")

    run(main())


def slow_server() -> tuple[Server, dict[str, Any]]:
    server = Server("slow")
    seen: dict[str, Any] = {"started": asyncio.Event(), "cancelled": asyncio.Event()}

    @server.tool
    async def wait(ctx: Context) -> str:
        seen["started"].set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            assert ctx.cancelled
            seen["cancelled"].set()
            raise
        return "never"

    @server.tool
    async def steps(n: int, ctx: Context) -> str:
        for step in range(n):
            await ctx.progress(step, n, f"step {step}")
        return "done"

    @server.tool
    async def tasks() -> str:
        task = asyncio.current_task()
        assert task is not None
        name.set("inside")
        await asyncio.wait_for(asyncio.sleep(0), 1)
        assert asyncio.current_task() is task and name.get() == "inside"
        return "fine"

    @server.tool
    async def outside() -> str:
        return name.get("unset")

    @server.tool
    def thread() -> str:
        return str(threading.get_ident())

    return server, seen


name: contextvars.ContextVar[str] = contextvars.ContextVar("name")


def test_cancelling_the_task_cancels_the_call(run: Any, era: Any) -> None:
    async def main() -> None:
        server, seen = slow_server()
        async with Client(server, mode=era) as client:
            call = asyncio.ensure_future(client.call_tool("wait"))
            await seen["started"].wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await seen["cancelled"].wait()
            assert (await client.call_tool("steps", {"n": 0})).text == "done"

    run(main())


def test_a_timeout_cancels_the_call(run: Any, era: Any) -> None:
    async def main() -> None:
        server, seen = slow_server()
        async with Client(server, mode=era) as client:
            with pytest.raises(RequestTimeout) as caught:
                await client.call_tool("wait", timeout=0.05)
            assert isinstance(caught.value, TimeoutError) and caught.value.code == "timeout"
            await seen["cancelled"].wait()

    run(main())


def test_progress_is_told_in_order_before_the_result(run: Any, era: Any) -> None:
    async def main() -> None:
        server, _ = slow_server()
        async with Client(server, mode=era) as client:
            seen: list[Any] = []

            async def slowly(told: dict[str, Any]) -> None:
                await asyncio.sleep(0)
                seen.append(told["progress"])

            await client.call_tool("steps", {"n": 5}, progress=slowly)
            assert seen == [0, 1, 2, 3, 4]
            told: list[Any] = []
            await client.call_tool("steps", {"n": 2}, progress=told.append)
            assert told[1] == {"progress": 1, "total": 2, "message": "step 1"}

    run(main())


def test_handlers_run_in_tasks_and_threads(run: Any, era: Any) -> None:
    async def main() -> None:
        server, _ = slow_server()
        async with Client(server, mode=era) as client:
            assert (await client.call_tool("tasks")).text == "fine"
            assert (await client.call_tool("outside")).text == "unset"
            assert (await client.call_tool("thread")).text != str(threading.get_ident())

    run(main())


def test_closing_ends_what_waits(run: Any, era: Any) -> None:
    async def main() -> None:
        server, seen = slow_server()
        client = await Client(server, mode=era).connect()
        calls = [asyncio.ensure_future(client.call_tool("wait")) for _ in range(3)]
        await seen["started"].wait()
        # From several tasks at once, and once more.
        await asyncio.gather(*(asyncio.ensure_future(client.close()) for _ in range(3)))
        await client.close()
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(outcome, (Disconnected, Cancelled)), outcome
        with pytest.raises((UsageError, Disconnected)):
            await client.call_tool("wait")

    run(main())


def test_a_server_that_closes_ends_what_waits(run: Any, era: Any) -> None:
    async def main() -> None:
        server, seen = slow_server()
        async with Client(server, mode=era) as client:
            call = asyncio.ensure_future(client.call_tool("wait"))
            await seen["started"].wait()
            await server.close()
            with pytest.raises((Disconnected, PeerError)):
                await call

    run(main())


def test_changes_are_announced(run: Any, era: Any) -> None:
    async def main() -> None:
        server = Server("changing")

        @server.tool
        async def early() -> str:
            return "early"

        @server.resource("memo://a")
        async def a() -> str:
            return "a"

        async with Client(server, mode=era) as client:
            notices = client.listen(tools=True, uris=["memo://a"])
            first = asyncio.ensure_future(notices.__anext__())
            await client.list_resources()  # what was sent before is there now

            @server.tool
            async def late() -> str:
                return "late"

            while (await first)[0] != "notifications/tools/list_changed":
                first = asyncio.ensure_future(notices.__anext__())
            assert (await client.call_tool("late")).text == "late"
            server.resource_updated("memo://a")
            while (notice := await notices.__anext__())[0] != "notifications/resources/updated":
                pass
            assert notice[1]["uri"] == "memo://a"
            await notices.aclose()  # type: ignore[attr-defined]

    run(main())


def test_each_listener_hears_its_own(run: Any, era: Any) -> None:
    async def main() -> None:
        server = Server("listened")
        for name in ("a", "b"):
            server.resource(f"memo://{name}", name=name)(lambda: "text")
        server.tool(name="first")(lambda: "1")
        everything: list[str] = []

        async with Client(server, mode=era, on_notice=lambda method, _: everything.append(method)) as client:
            streams = [client.listen(tools=True), client.listen(uris=["memo://a"]), client.listen(uris=["memo://b"])]
            for stream in streams:
                assert (await stream.__anext__())[0] == "notifications/subscriptions/acknowledged"
            server.resource_updated("memo://b")
            server.resource_updated("memo://a")
            server.tool(name="second")(lambda: "2")
            heard = [await stream.__anext__() for stream in streams]
            methods = [method for method, _ in heard]
            updated = "notifications/resources/updated"
            assert methods == ["notifications/tools/list_changed", updated, updated]
            assert [params["uri"] for _, params in heard[1:]] == ["memo://a", "memo://b"]
            assert sorted(everything)[-6:] == sorted([*methods, *["notifications/subscriptions/acknowledged"] * 3])
            for stream in streams:
                await stream.aclose()  # type: ignore[attr-defined]

    run(main())


def test_logs(run: Any, era: Any) -> None:
    async def main() -> None:
        server = Server("logging")

        @server.tool
        async def talk(ctx: Context) -> str:
            ctx.log("debug", "hidden")
            ctx.log("info", {"n": 1}, logger="x")
            return "said"

        seen: list[Any] = []
        async with Client(server, mode=era, on_notice=lambda *notice: seen.append(notice), log_level="info") as client:
            assert (await client.call_tool("talk")).text == "said"
        logs = [params for method, params in seen if method == "notifications/message"]
        assert [(entry["level"], entry["data"], entry["logger"]) for entry in logs] == [("info", {"n": 1}, "x")]

    run(main())


def test_many_calls_at_once(run: Any, era: Any) -> None:
    async def main() -> None:
        async with Client(weather(), mode=era) as client:
            results = await asyncio.gather(*(client.call_tool("numbers", {"n": n}) for n in range(200)))
            assert [result.data for result in results] == [[n, n + 1] for n in range(200)]

    run(main())


def test_trace_sees_every_message(run: Any, era: Any) -> None:
    async def main() -> None:
        seen: list[Any] = []
        async with Client(weather(), mode=era, trace=lambda *line: seen.append(line)) as client:
            await client.call_tool("numbers", {"n": 1})
        sent = [json.loads(text) for direction, text in seen if direction == ">"]
        received = [json.loads(text) for direction, text in seen if direction == "<"]
        (call,) = [message for message in sent if message.get("method") == "tools/call"]
        assert any(message.get("id") == call["id"] for message in received)

    run(main())


def test_without_an_event_loop(era: Any) -> None:
    seen: list[Any] = []
    with SyncClient(weather(), mode=era, roots=lambda: []) as client:
        assert client.era == era
        assert client.call_tool("numbers", {"n": 1}).data == [1, 2]
        assert len(client.list_tools()) > 3
        client.notify("notifications/roots/list_changed")
        with pytest.raises(PeerError):
            client.call_tool("nope")
    with pytest.raises(UsageError):
        client.list_tools()
    assert not seen


def test_wrong_use_is_refused(run: Any) -> None:
    async def main() -> None:
        wrong: list[Any] = ["", " ", [], None, 3]
        for nothing in wrong:
            with pytest.raises(UsageError):
                await Client(nothing).connect()
        with pytest.raises(UsageError):
            await Client(weather()).call_tool("numbers")
        async with Client(weather()) as client:
            with pytest.raises(UsageError):
                await client.connect()
            with pytest.raises(ValueError):
                await client.call_tool("numbers", {"n": float("nan")})

    run(main())
    server = weather()
    with pytest.raises(UsageError):

        @server.tool(name="numbers")
        async def again() -> str:
            return ""

    with pytest.raises(UsageError):
        Server("x", limits={"messageBytes": -1}).run()


class Broken:
    """Stands for a core object after a panic."""

    def __getattr__(self, name: str) -> Any:
        def refuse(*args: Any) -> Any:
            error = native.InternalError("this object had an internal error")
            error.code = "internal_error"
            raise error

        return refuse


@pytest.mark.parametrize("side", ["client", "server"])
def test_a_defect_of_the_core_ends_what_waits(run: Any, side: str) -> None:
    async def main() -> None:
        server, seen = slow_server()
        async with Client(server) as client:
            machine, engine = client._machine, server._engine()
            assert machine is not None
            call = asyncio.ensure_future(client.call_tool("wait"))
            await seen["started"].wait()
            if side == "client":
                machine.core = Broken()
                with pytest.raises(InternalError):
                    client.notify("notifications/roots/list_changed")
                with pytest.raises(InternalError):
                    await call
            else:
                engine.core = Broken()
                with pytest.raises(InternalError):
                    server.log("info", "x")
                await seen["cancelled"].wait()
                with pytest.raises(Disconnected):
                    await call

    run(main())


def test_a_cancelled_call_frees_the_thread_that_asks(run: Any, era: Any) -> None:
    async def main() -> None:
        server = Server("threads")
        freed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        asked = asyncio.Event()

        @server.tool
        def ask(ctx: Context) -> str:
            try:
                ctx.wait(ctx.elicit("?", str))
            except BaseException as error:
                freed.get_loop().call_soon_threadsafe(freed.set_result, type(error).__name__)
                raise
            return ""

        async def on_elicit(params: dict[str, Any]) -> Any:
            asked.set()
            await asyncio.Event().wait()

        async with Client(server, mode=era, on_elicit=on_elicit) as client:
            call = asyncio.ensure_future(client.call_tool("ask"))
            await asked.wait()
            call.cancel()
            if era == "legacy":  # later, the server does not know that the user is being asked
                assert await freed == "CancelledError"
        await server.close()
        assert await freed == "CancelledError"

    run(main())
