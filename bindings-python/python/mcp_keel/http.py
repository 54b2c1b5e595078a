"""HTTP: connections of the server, the ASGI application, and the connections of clients.

What a request or an answer means is decided by the core; here bytes are moved.
"""

from __future__ import annotations

import asyncio
import json
import select
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from ._native import FlatHttp1, NativeError
from .driver import FULL, Outlet

if TYPE_CHECKING:
    from .engine import Engine
    from .machine import Machine
    from .server import Server

AsgiApp = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[MutableMapping[str, Any]]],
        Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ],
    Awaitable[None],
]

# Servers keep idle connections for five seconds and more.
IDLE_SECONDS = 4.0
CLOSE_SECONDS = 2.0
IDLE_CONNECTIONS = 256


BUSY = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Accepted(asyncio.Protocol):
    """One connection of the server."""

    def __init__(self, engine: Engine, open: set[Accepted], most: int) -> None:
        self._engine = engine
        self._open = open
        self._most = most
        self._outlet = Outlet(engine)
        self.lost: asyncio.Future[None] = engine.loop.create_future()
        self.stream = 0

    def connection_made(self, transport: Any) -> None:
        self._outlet.transport = transport
        if len(self._open) >= self._most:
            transport.write(BUSY)
            transport.close()
            return
        self._open.add(self)
        self.stream, _ = self._engine.attach(self._outlet)
        self._engine.feed(self._engine.core.open, self.stream, "http1")

    def abort(self) -> None:
        self._outlet.transport.abort()

    def data_received(self, data: bytes) -> None:
        self._engine.feed_batch(self._engine.core.receive, self.stream, data)

    def eof_received(self) -> bool:
        self._engine.end(self.stream)
        return True  # what was asked is still answered

    def pause_writing(self) -> None:
        self._outlet.pause(True)
        self._outlet.transport.pause_reading()

    def resume_writing(self) -> None:
        self._outlet.pause(False)
        if not self._outlet.paused:
            self._outlet.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._open.discard(self)
        self._outlet.lost()
        self._outlet.transport = None
        self._engine.gone(self.stream)
        self.lost.set_result(None)


async def serve(
    engine: Engine, host: str, port: int, started: Callable[[int], None] | None, ssl: Any, max_connections: int
) -> None:
    """Accepts connections until the engine is closed."""
    connections: set[Accepted] = set()
    listening = await engine.loop.create_server(
        lambda: Accepted(engine, connections, max_connections), host, port, ssl=ssl, backlog=1024
    )
    try:
        if started is not None:
            started(listening.sockets[0].getsockname()[1])
        await asyncio.wait([engine.closed])
    finally:
        listening.close()
        rest = [connection.lost for connection in connections]
        for connection in list(connections):
            engine.on_close(connection.stream)
        if rest:  # what is not delivered by then is lost
            await asyncio.wait(rest, timeout=CLOSE_SECONDS)
        for connection in list(connections):
            connection.abort()


class _Answer:
    """Where the answer to one ASGI request goes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._messages: deque[dict[str, Any] | None] = deque()
        self._size = 0
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    @property
    def paused(self) -> bool:
        return not self._room.is_set()

    def head(self, status: int, text: str) -> None:
        lines = (line.split(":", 1) for line in text.splitlines())
        headers = [(name.strip().lower().encode("latin-1"), value.strip().encode("latin-1")) for name, value in lines]
        self._put({"type": "http.response.start", "status": status, "headers": headers})

    def body(self, data: bytes, last: bool) -> None:
        self._size += len(data)
        if self._size > 65536:
            self._room.clear()
        self._put({"type": "http.response.body", "body": data, "more_body": not last})

    def close(self) -> None:
        self._room.set()
        self._put(None)

    def _put(self, message: dict[str, Any] | None) -> None:
        self._messages.append(message)
        self._wake.set()

    def full(self) -> bool:
        return self._size > FULL

    async def drained(self) -> None:
        await self._room.wait()

    async def next(self) -> dict[str, Any] | None:
        while not self._messages:
            self._wake.clear()
            await self._wake.wait()
        message = self._messages.popleft()
        if message is not None:
            self._size -= len(message.get("body", b""))
            if self._size <= 65536:
                self._room.set()
        return message


def asgi(server: Server) -> AsgiApp:
    """The ASGI application of a server."""
    limit = (server._config.get("limits") or {}).get("messageBytes", 16 * 1024 * 1024)

    async def app(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(server, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        elif scope["type"] == "http":
            body = bytearray()
            more = True
            while more and len(body) <= limit:  # of a body over the limit, enough to be refused
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                body += message.get("body", b"")
                more = message.get("more_body", False)
            await _exchange(server._engine(), _head(scope, server.path), bytes(body), receive, send)

    return app


async def _lifespan(server: Server, receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.shutdown":
            await server.close()
        await send({"type": message["type"] + ".complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _head(scope: MutableMapping[str, Any], endpoint: str) -> str:
    root, path = scope.get("root_path", ""), scope["path"]
    if root and path.startswith(root):
        # Mounted in another application: the mount point is the endpoint.
        path = path[len(root) :]
        path = endpoint if path in ("", "/") else path
    lines = [f"{scope['method']} {path}"]
    lines += (f"{name.decode('latin-1')}: {value.decode('latin-1')}" for name, value in scope["headers"])
    return "\n".join(lines)


async def _exchange(engine: Engine, head: str, body: bytes, receive: Any, send: Any) -> None:
    answer = _Answer(engine.loop)
    stream, _ = engine.attach(answer)

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        engine.gone(stream)
        answer.close()

    engine.feed(engine.core.request, stream, head, body)
    watching = engine.loop.create_task(watch())
    try:
        while (message := await answer.next()) is not None:
            await send(message)
    except OSError:
        pass  # the client went away while we sent
    finally:
        watching.cancel()
        engine.gone(stream)


class _Connection(asyncio.Protocol):
    """One connection of a client; carries one exchange at a time."""

    def __init__(self, pool: Pool, origin: str) -> None:
        self._pool = pool
        self._http = FlatHttp1()
        self.origin = origin
        self.transport: Any = None
        self.stream = 0
        self.since = 0.0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def send(self, stream: int, method: str, text: str) -> None:
        self.stream = stream
        try:
            self.transport.write(self._http.encode(method, text))
        except NativeError as error:
            self._fail(str(error))

    def is_quiet(self) -> bool:
        """Whether it is open, also as far as the system knows: the loop hears of an end only in its next turn."""
        if self.transport.is_closing():
            return False
        if not hasattr(select, "poll"):
            return True
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not poll.poll(0)

    def data_received(self, data: bytes) -> None:
        if not self.stream:
            self.transport.abort()  # nothing was asked
            return
        try:
            self._pass_on(self._http.receive(data))
        except NativeError as error:
            self._fail(str(error))

    def connection_lost(self, error: Exception | None) -> None:
        self._pool.forget(self)
        if self.stream:
            try:
                self._pass_on(self._http.finish())
            except NativeError as malformed:
                self._fail(str(error or malformed))
            if self.stream:
                self._fail(str(error or "connection closed"))

    def _pass_on(self, records: Any) -> None:
        machine = self._pool.machine
        for kind, _, id, _, text, _ in records:
            stream = self.stream
            if not stream:
                return  # aborted by what came before
            if kind == "head":
                machine.response(stream, id, text)
            elif kind == "body":
                machine.body(stream, text)
            elif kind == "end":
                self.stream = 0
                self._pool.done(self, stream, id == 1)
                machine.end(stream)

    def _fail(self, reason: str) -> None:
        stream, self.stream = self.stream, 0
        self._pool.done(self, stream, False)
        self._pool.machine.failed(stream, reason)


class Pool:
    """Performs the fetches of a client: finds or opens a connection for each."""

    def __init__(self, machine: Machine, ssl: Any) -> None:
        self.machine = machine
        self._ssl = ssl
        # Addresses are tried in a staggered race where the loop can do it; uvloop cannot.
        self._racing: Any = {"happy_eyeballs_delay": 0.25} if isinstance(machine.loop, asyncio.BaseEventLoop) else {}
        self._idle: dict[str, list[_Connection]] = {}
        self._busy: dict[int, _Connection | asyncio.Task[None]] = {}

    def fetch(self, stream: int, method: str, text: str) -> None:
        try:
            origin = FlatHttp1.target(json.loads(text)["url"])
        except NativeError as error:
            self.machine.failed(stream, str(error))
            return
        idle = self._idle.get(origin, [])
        while idle:
            connection = idle.pop()
            if self.machine.loop.time() - connection.since < IDLE_SECONDS and connection.is_quiet():
                self._busy[stream] = connection
                connection.send(stream, method, text)
                return
            connection.transport.close()
        self._busy[stream] = self.machine.loop.create_task(self._open(stream, origin, method, text))

    async def _open(self, stream: int, origin: str, method: str, text: str) -> None:
        target = json.loads(origin)
        host, port = target["host"], target["port"]
        try:
            secure = self._context() if target["tls"] else None
            _, connection = await self.machine.loop.create_connection(
                lambda: _Connection(self, origin), host, port, ssl=secure, **self._racing
            )
        except Exception as error:  # resolver, socket, TLS, or a setting that the loop refuses
            self._busy.pop(stream, None)
            self.machine.failed(stream, f"cannot connect to {host} port {port}: {error}")
            return
        self._busy[stream] = connection
        connection.send(stream, method, text)

    def _context(self) -> Any:
        if self._ssl is None:
            import ssl

            self._ssl = ssl.create_default_context()
        return self._ssl

    def abort(self, stream: int) -> None:
        busy = self._busy.pop(stream, None)
        if isinstance(busy, asyncio.Task):
            busy.cancel()
        elif busy is not None:
            busy.stream = 0
            busy.transport.abort()

    def done(self, connection: _Connection, stream: int, reusable: bool) -> None:
        self._busy.pop(stream, None)
        idle = self._idle.setdefault(connection.origin, [])
        if reusable and len(idle) < IDLE_CONNECTIONS and not connection.transport.is_closing():
            connection.since = self.machine.loop.time()
            idle.append(connection)
        else:
            connection.transport.close()

    def forget(self, connection: _Connection) -> None:
        idle = self._idle.get(connection.origin, [])
        if connection in idle:
            idle.remove(connection)

    def close(self) -> None:
        """Drops what is idle, and what is still under way."""
        for stream in list(self._busy):
            self.abort(stream)
        for idle in self._idle.values():
            for connection in idle:
                connection.transport.close()
        self._idle.clear()
