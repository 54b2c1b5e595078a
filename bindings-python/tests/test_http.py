"""HTTP: our client against our server, and single bytes where it matters."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURE

from mcp_keel import Client, Context, Disconnected, PeerError, RequestTimeout, Server, SyncClient

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@contextlib.asynccontextmanager
async def serving(server: Server) -> AsyncIterator[str]:
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(server.serve_http(port=0, started=port.set_result))
    try:
        yield f"http://127.0.0.1:{await port}/mcp"
    finally:
        await server.close()
        await task


def small() -> tuple[Server, dict[str, asyncio.Event]]:
    server = Server("small")
    seen = {"started": asyncio.Event(), "cancelled": asyncio.Event()}

    @server.tool
    async def echo(text: str) -> str:
        return text

    @server.tool
    async def steps(n: int, ctx: Context) -> str:
        for step in range(n):
            await ctx.progress(step)
        return "done"

    @server.tool
    async def ask(ctx: Context) -> str:
        answer = await ctx.elicit("name?", str)
        return f"hello {answer.data}"

    @server.tool
    async def wait() -> str:
        seen["started"].set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen["cancelled"].set()
            raise
        return "never"

    return server, seen


def test_calls(run: Any, era: Any) -> None:
    async def main() -> None:
        server, _ = small()
        async with serving(server) as url, Client(url, mode=era, on_elicit=lambda p: {"value": "Ada"}) as client:
            assert client.era == era
            text = "ü" * 2_000_000
            assert (await client.call_tool("echo", {"text": text})).text == text
            results = await asyncio.gather(*(client.call_tool("echo", {"text": str(n)}) for n in range(100)))
            assert [result.text for result in results] == [str(n) for n in range(100)]
            seen: list[Any] = []
            assert (await client.call_tool("steps", {"n": 3}, progress=seen.append)).text == "done"
            assert [told["progress"] for told in seen] == [0, 1, 2]
            assert (await client.call_tool("ask")).text == "hello Ada"
            with pytest.raises(PeerError):
                await client.call_tool("nope")

    run(main())


def test_connections_are_kept(run: Any, era: Any) -> None:
    async def main() -> None:
        server, _ = small()
        async with serving(server) as url, Client(url, mode=era) as client:
            for _ in range(20):
                await client.call_tool("echo", {"text": "x"})
            # At most one for calls and one for a stream that stays open.
            engine = server._engine()
            assert len(engine.outlets) <= 2

    run(main())


def test_cancelling_reaches_the_handler(run: Any, era: Any) -> None:
    async def main() -> None:
        server, seen = small()
        async with serving(server) as url, Client(url, mode=era) as client:
            call = asyncio.ensure_future(client.call_tool("wait"))
            await seen["started"].wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await seen["cancelled"].wait()
            assert (await client.call_tool("echo", {"text": "on"})).text == "on"
            seen["cancelled"].clear()
            with pytest.raises(RequestTimeout):
                await client.call_tool("wait", timeout=0.05)
            await seen["cancelled"].wait()

    run(main())


def test_a_handler_that_reports_without_end(run: Any, era: Any) -> None:
    """In the loop and in a thread: no harm to others, and over when its call is cancelled."""
    server, _ = small()
    started, ended = threading.Event(), threading.Event()

    @server.tool
    async def runaway(ctx: Context) -> None:
        started.set()
        try:
            for step in range(2**40):
                await ctx.progress(step)
                await ctx.log("debug", step)
        except asyncio.CancelledError:
            ended.set()
            raise

    @server.tool
    def threaded(ctx: Context) -> None:
        started.set()
        try:
            for step in range(2**40):
                ctx.progress(step)
        finally:
            ended.set()

    async def main() -> None:
        async with serving(server) as url, Client(url, mode=era) as client:
            for tool in ("runaway", "threaded"):
                started.clear()
                ended.clear()
                call = asyncio.ensure_future(client.call_tool(tool))
                assert await asyncio.to_thread(started.wait, 10)
                assert (await client.call_tool("echo", {"text": "meanwhile"})).text == "meanwhile"
                call.cancel()
                assert (await client.call_tool("echo", {"text": "after"})).text == "after"
                assert await asyncio.to_thread(ended.wait, 10)

    run(main())


def test_connections_beyond_the_limit_are_told(run: Any) -> None:
    async def main() -> None:
        server, _ = small()
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(server.serve_http(port=0, started=port.set_result, max_connections=2))
        held = [await asyncio.open_connection("127.0.0.1", await port) for _ in range(2)]
        reader, writer = await asyncio.open_connection("127.0.0.1", await port)
        assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
        for _, end in [*held, (reader, writer)]:
            end.close()
        await server.close()
        await task

    run(main())


def test_sigterm_answers_what_runs(run: Any, era: Any) -> None:
    process = subprocess.Popen([*FIXTURE, "--http", "0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = process.stdout.readline().split()[1]

    async def main() -> None:
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=era) as client:
            running = asyncio.Event()
            count = client.call_tool("count", {"to": 2_000_000}, progress=lambda _: running.set())
            call = asyncio.ensure_future(count)
            await running.wait()
            process.terminate()
            with pytest.raises(PeerError) as refused:
                await call
            assert refused.value.rpc_code == -32603

    run(main())
    assert process.wait(10) == 0
    process.stdout.close()


def test_a_client_that_vanishes_cancels_its_calls(run: Any) -> None:
    async def main() -> None:
        server, seen = small()
        async with serving(server) as url:
            client = await Client(url, mode="modern").connect()
            call = asyncio.ensure_future(client.call_tool("wait"))
            await seen["started"].wait()
            client._machine.pool.close()  # type: ignore[union-attr]
            await seen["cancelled"].wait()
            await client.close()
            with pytest.raises(Disconnected):
                await call

    run(main())


def test_a_server_that_stops_ends_what_waits(run: Any, era: Any) -> None:
    async def main() -> None:
        server, seen = small()
        async with serving(server) as url, Client(url, mode=era) as client:
            call = asyncio.ensure_future(client.call_tool("wait"))
            await seen["started"].wait()
            await server.close()
            with pytest.raises(PeerError) as refused:
                await call
            assert refused.value.rpc_code == -32603

    run(main())


def test_no_server_there(run: Any) -> None:
    async def main() -> None:
        listening = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        listening.close()
        await listening.wait_closed()
        with pytest.raises(Disconnected, match="cannot connect"):
            await Client(f"http://127.0.0.1:{port}/mcp").connect()

    run(main())


def test_cut_answers_and_nonsense_end_the_call(run: Any) -> None:
    async def main() -> None:
        for answer in (
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
            b"nonsense\r\n\r\n",
            b"",
        ):

            async def serve(reader: Any, writer: Any, answer: bytes = answer) -> None:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(answer)
                writer.close()

            listening = await asyncio.start_server(serve, "127.0.0.1", 0)
            port = listening.sockets[0].getsockname()[1]
            with pytest.raises(Disconnected):
                await Client(f"http://127.0.0.1:{port}/mcp", mode="legacy").connect()
            listening.close()

    run(main())


def test_without_an_event_loop(era: Any) -> None:
    server = subprocess.Popen([*FIXTURE, "--http", "0"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    word, port = server.stdout.readline().split()
    assert word == "listening"
    with SyncClient(f"http://127.0.0.1:{port}/mcp", mode=era) as client:
        assert client.call_tool("add", {"a": 2**63, "b": 1}).data == 2**63 + 1
    server.terminate()
    assert server.wait(10) == 0
    server.stdout.close()


def test_tls(run: Any, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is needed to make a certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*make, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate, key)
    trusted = ssl.create_default_context(cafile=str(certificate))

    async def main() -> None:
        server, _ = small()
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(server.serve_http(port=0, started=port.set_result, ssl=served))
        url = f"https://localhost:{await port}/mcp"
        async with Client(url, ssl=trusted) as client:
            assert (await client.call_tool("echo", {"text": "secret"})).text == "secret"
        with pytest.raises(Disconnected, match="certificate"):
            await Client(url).connect()
        await server.close()
        await task

    run(main())


class Asgi:
    """A host for an ASGI application, as small as it can be."""

    def __init__(self, app: Any, **scope: Any) -> None:
        self.app = app
        self.scope = {"type": "http", "method": "POST", "path": "/mcp", "root_path": "", **scope}
        self.incoming: asyncio.Queue[Any] = asyncio.Queue()
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.body = b""

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
        else:
            self.body += message["body"]

    async def run(self, message: Any = None, body: bytes | None = None) -> Asgi:
        era = {
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        revision = message.pop("revision", None) if message else None
        headers = {
            "host": "localhost",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        if revision is not None:
            params = message.setdefault("params", {})
            params["_meta"] = {**era, "io.modelcontextprotocol/protocolVersion": revision}
            headers.update({"mcp-protocol-version": revision, "mcp-method": message["method"]})
            if "name" in params:
                headers["mcp-name"] = params["name"]
        self.scope["headers"] = [(name.encode(), value.encode()) for name, value in headers.items()]
        data = json.dumps(message).encode() if body is None else body
        self.incoming.put_nowait({"type": "http.request", "body": data[:10], "more_body": True})
        self.incoming.put_nowait({"type": "http.request", "body": data[10:], "more_body": False})
        await self.app(self.scope, self.incoming.get, self.send)
        return self


async def modern_revision(server: Server) -> str:
    async with Client(server, mode="modern") as client:
        return client.revision


def test_asgi(run: Any) -> None:
    async def main() -> None:
        server, seen = small()
        app = server.asgi()
        revision = await modern_revision(server)
        answer = await Asgi(app).run({**CALL, "revision": revision})
        assert answer.status == 200 and len(json.loads(answer.body)["result"]["tools"]) == 4
        assert answer.headers[b"content-type"] == b"application/json"
        mounted = await Asgi(app, path="/tools/x", root_path="/tools/x").run({**CALL, "revision": revision})
        assert mounted.status == 200
        assert (await Asgi(app, path="/other").run({**CALL, "revision": revision})).status == 404
        assert (await Asgi(app).run(body=b"{")).status == 400
        assert (await Asgi(app).run(body=b" " * (17 * 1024 * 1024))).status == 413

        steps = {**CALL, "method": "tools/call", "params": {"name": "steps", "arguments": {"n": 2}}}
        answer = await Asgi(app).run({**steps, "revision": revision})
        assert b'"done"' in answer.body

        waiting = Asgi(app)
        message = {**CALL, "method": "tools/call", "params": {"name": "wait", "arguments": {}}, "revision": revision}
        task = asyncio.ensure_future(waiting.run(message))
        await seen["started"].wait()
        waiting.incoming.put_nowait({"type": "http.disconnect"})
        await seen["cancelled"].wait()
        await task

    run(main())


def test_asgi_lifespan_is_answered_and_not_needed(run: Any) -> None:
    async def main() -> None:
        server, _ = small()
        messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
        sent: list[Any] = []

        async def receive() -> Any:
            return next(messages)

        async def send(message: Any) -> None:
            sent.append(message["type"])

        await server.asgi()({"type": "lifespan"}, receive, send)
        assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]

    run(main())


def test_a_connection_that_just_ended_is_not_used_again(run: Any) -> None:
    """The server closes after each answer without saying so; every call goes through all the same."""

    async def main() -> None:
        def answer(method: str, params: Any) -> Any:
            opened = {"capabilities": {"tools": {}}, "serverInfo": {"name": "closing", "version": "1"}}
            if method == "initialize":
                return {"protocolVersion": params["protocolVersion"], **opened}
            return {"tools": []} if method == "tools/list" else None

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            fields = dict(line.split(": ", 1) for line in head.lower().strip().split("\r\n")[1:])
            body = json.loads(await reader.readexactly(int(fields.get("content-length", "0"))) or b"{}")
            result = answer(body.get("method", ""), body.get("params"))
            text = b"" if result is None else json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": result}).encode()
            status = "405 Method Not Allowed" if head.startswith("GET") else "200 OK" if text else "202 Accepted"
            kind = "content-type: application/json\r\n" if text else ""
            writer.write(f"HTTP/1.1 {status}\r\n{kind}content-length: {len(text)}\r\n\r\n".encode() + text)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, Client(f"http://127.0.0.1:{port}/mcp", mode="legacy") as client:
            for _ in range(20):
                assert await client.list_tools() == []

    run(main())
