"""Servers as child processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURE

from mcp_keel import Client, Disconnected, Server, SyncClient, links

STDIO = [*FIXTURE, "--stdio"]


def initialize() -> dict[str, Any]:
    """The first message of the older era, as our own client sends it."""
    sent: list[str] = []
    with SyncClient(Server("any"), mode="legacy", trace=lambda direction, text: sent.append(text)):
        return dict(json.loads(sent[0]))


INITIALIZE = initialize()


def call(id: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def program(tmp_path: Path, body: str) -> list[str]:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(body))
    return [sys.executable, str(path)]


def lines(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def test_fixture(run: Any, era: Any) -> None:
    async def main() -> None:
        async with Client(STDIO, mode=era) as client:
            assert client.era == era
            assert (await client.call_tool("echo", {"text": "ü" * 100_000})).text == "ü" * 100_000
            results = await asyncio.gather(*(client.call_tool("add", {"a": n, "b": 1}) for n in range(100)))
            assert [result.data for result in results] == list(range(1, 101))

    run(main())


def test_large_messages(run: Any) -> None:
    async def main() -> None:
        async with Client(STDIO) as client:
            text = "x" * (8 * 1024 * 1024)
            assert (await client.call_tool("echo", {"text": text})).text == text

    run(main())


def test_ways_to_name_a_server(run: Any, tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "import os\nfrom mcp_keel import Server\nserver = Server('named')\n"
        "@server.tool\nasync def env(name: str) -> str:\n    return os.environ.get(name, '') + os.getcwd()\nserver.run()\n"
    )
    described = {"command": sys.executable, "args": [str(script)], "env": {"WORD": "w"}, "cwd": str(tmp_path)}
    os.environ["INHERITED"] = "i"

    async def main() -> None:
        targets: list[Any] = [script, str(script), f"{sys.executable} {script}", [sys.executable, script], described]
        for target in targets:
            async with Client(target) as client:
                assert client.server_info is not None and client.server_info["name"] == "named"
        async with Client(described) as client:
            assert (await client.call_tool("env", {"name": "WORD"})).text == f"w{tmp_path}"
            assert (await client.call_tool("env", {"name": "INHERITED"})).text.startswith("i")

    run(main())


def test_prints_do_not_reach_the_wire(run: Any, era: Any, tmp_path: Path) -> None:
    command = program(
        tmp_path,
        """
        import os, subprocess, sys
        from mcp_keel import Server
        print("before")
        server = Server("noisy")
        @server.tool
        async def noise() -> str:
            print("printed")
            os.write(1, b"written\\n")
            subprocess.run(["echo", "from a child"], check=True)
            child = subprocess.run(["cat"], check=True, capture_output=True)
            return f"quiet {child.stdout!r}"
        server.run()
        print("after", file=sys.stderr)
        """,
    )
    said: list[str] = []

    async def main() -> None:
        seen: list[str] = []
        # Unbuffered, what is printed before the server runs is on the wire before it can be guarded.
        target = {"command": command[0], "args": command[1:], "env": {"PYTHONUNBUFFERED": ""}}
        async with Client(
            target, mode=era, on_stderr=said.append, trace=lambda direction, text: seen.append(text)
        ) as client:
            assert (await client.call_tool("noise")).text == "quiet b''"
        for text in seen:
            json.loads(text)

    run(main())
    text = "".join(said)
    for word in ("before", "printed", "written", "from a child", "after"):
        assert word in text


def test_a_killed_server_ends_every_call_at_once(run: Any, era: Any) -> None:
    async def main() -> None:
        async with Client(STDIO, mode=era) as client:
            calls = [asyncio.ensure_future(client.call_tool("slow", {"ms": 60000})) for _ in range(5)]
            await client.call_tool("echo", {"text": "all are there"})
            began = time.monotonic()
            os.kill(client._machine.link._transport.get_pid(), signal.SIGKILL)  # type: ignore[union-attr]
            for outcome in await asyncio.gather(*calls, return_exceptions=True):
                assert isinstance(outcome, Disconnected), outcome
                assert "signal 9" in str(outcome)
            assert time.monotonic() - began < 2
            with pytest.raises(Disconnected):
                await client.call_tool("echo", {"text": "x"})

    run(main())


def test_a_server_that_cannot_start_says_why(run: Any, tmp_path: Path) -> None:
    command = program(tmp_path, "import sys; sys.exit('no configuration file')")

    async def main() -> None:
        with pytest.raises(Disconnected, match="exit code 1.*no configuration file"):
            await Client(command, on_stderr=lambda _: None).connect()
        with pytest.raises(Disconnected, match="cannot start"):
            await Client(["/does/not/exist"]).connect()

    run(main())


def test_a_stubborn_server_is_killed_with_its_children(run: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(links, "GRACE_SECONDS", 0.2)
    command = program(
        tmp_path,
        """
        import asyncio, signal, subprocess, sys
        from mcp_keel import Server
        server = Server("stubborn")
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        @server.tool
        async def pid() -> int:
            return child.pid
        try:
            server.run()
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            import time
            time.sleep(600)
        """,
    )

    async def main() -> int:
        async with Client(command) as client:
            pid = (await client.call_tool("pid")).data
            assert isinstance(pid, int)
            return pid

    pid = run(main())
    for _ in range(100):  # the kernel has to reap it
        if not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text():
            return
        time.sleep(0.02)
    raise AssertionError("the child of the server lives on")


def test_end_of_input_answers_what_is_in_flight() -> None:
    data = lines(INITIALIZE, call(2, "slow", ms=100)) + json.dumps(call(3, "echo", text="unterminated")).encode()
    done = subprocess.run(STDIO, input=data, capture_output=True, timeout=20)
    answers = {json.loads(line)["id"]: json.loads(line) for line in done.stdout.splitlines()}
    assert done.returncode == 0
    assert answers[2]["result"]["content"][0]["text"] == "done"
    assert answers[3]["result"]["content"][0]["text"] == "unterminated"


def test_files_as_input_and_output(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(lines(INITIALIZE, call(2, "echo", text="x" * 300_000)))
    with open(tmp_path / "in", "rb") as source, open(tmp_path / "out", "wb") as sink:
        done = subprocess.run(STDIO, stdin=source, stdout=sink, timeout=20)
    assert done.returncode == 0
    answers = [json.loads(line)["id"] for line in (tmp_path / "out").read_bytes().splitlines()]
    assert sorted(answers) == [1, 2]


def test_a_client_that_leaves_ends_the_server() -> None:
    server = subprocess.Popen(STDIO, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(lines(INITIALIZE))
    server.stdin.flush()
    server.stdout.readline()
    server.stdin.write(lines(call(2, "slow", ms=60000)))
    server.stdin.flush()
    server.stdout.close()
    assert server.wait(10) == 0
    server.stdin.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server(number: int) -> None:
    server = subprocess.Popen(STDIO, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(lines(INITIALIZE))
    server.stdin.flush()
    server.stdout.readline()
    server.send_signal(number)
    assert server.wait(10) == 0
    server.stdin.close()
    server.stdout.close()


def test_a_slow_reader_does_not_fill_memory() -> None:
    server = subprocess.Popen(STDIO, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(lines(INITIALIZE))
    server.stdin.flush()
    server.stdout.readline()
    message = call(2, "count", to=200_000)
    message["params"]["_meta"] = {"progressToken": 1}
    server.stdin.write(lines(message))
    server.stdin.flush()
    first = server.stdout.readline()
    assert json.loads(first)["params"]["progress"] == 1
    status = Path(f"/proc/{server.pid}/status").read_text()
    assert int(status.split("VmHWM:")[1].split()[0]) < 120_000
    last = 1
    while "params" in (line := json.loads(server.stdout.readline())):
        assert line["params"]["progress"] == last + 1
        last += 1
    assert last == 200_000 and line["result"]["content"][0]["text"] == "counted to 200000"
    server.stdin.close()
    assert server.wait(10) == 0
    server.stdout.close()


def test_without_an_event_loop(era: Any) -> None:
    with SyncClient(STDIO, mode=era, on_elicit=lambda params: {"name": "Ada"}) as client:
        assert client.call_tool("ask_name").text == "Hello, Ada!"
        assert client.get_prompt("greet", {"name": "Ada"})["messages"]


SILENT = [sys.executable, "-c", "import sys; print('up', file=sys.stderr, flush=True); sys.stdin.read()"]


@pytest.mark.parametrize("started", [False, True])
def test_closing_while_it_connects(run: Any, started: bool) -> None:
    async def main() -> None:
        up = asyncio.Event()
        client = Client(SILENT, on_stderr=lambda _: up.set())
        connecting = asyncio.ensure_future(client.connect())
        await (up.wait() if started else asyncio.sleep(0))
        await asyncio.gather(client.close(), client.close())
        with pytest.raises(Disconnected):
            await connecting
        await client.close()

    run(main())


def test_another_thread_closes_while_it_connects() -> None:
    up = threading.Event()
    client = SyncClient(SILENT, on_stderr=lambda _: up.set())

    def close() -> None:
        up.wait(20)
        client.close()
        client.close()

    closing = threading.Thread(target=close)
    closing.start()
    with pytest.raises(Disconnected):
        client.connect()
    closing.join(20)
    assert not closing.is_alive()


def raw(*messages: dict[str, Any]) -> subprocess.Popen[bytes]:
    """The fixture after the handshake of the older era, with messages sent to it."""
    server = subprocess.Popen(STDIO, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(lines(INITIALIZE))
    server.stdin.flush()
    server.stdout.readline()
    server.stdin.write(lines(*messages))
    server.stdin.flush()
    return server


def test_sigterm_answers_what_runs() -> None:
    server = raw(call(2, "slow", ms=600_000), call(3, "echo", text=""))
    assert server.stdin is not None and server.stdout is not None
    assert json.loads(server.stdout.readline())["id"] == 3
    server.terminate()
    answer = json.loads(server.stdout.readline())
    assert (answer["id"], answer["error"]["code"]) == (2, -32603)
    assert server.wait(10) == 0
    server.stdin.close()
    server.stdout.close()


def test_a_handler_that_reports_without_end_is_cancelled() -> None:
    server = raw(call(2, "count", to=2_000_000), call(3, "echo", text="meanwhile"))
    assert server.stdin is not None and server.stdout is not None
    assert json.loads(server.stdout.readline())["id"] == 3
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
    server.stdin.write(lines(cancel, call(4, "echo", text="after")))
    server.stdin.flush()
    assert json.loads(server.stdout.readline())["id"] == 4
    server.stdin.close()
    assert server.wait(10) == 0
    server.stdout.close()
