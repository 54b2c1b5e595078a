"""What a client talks through: a child process, HTTP, or a server in the same event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .driver import Outlet
from .errors import Disconnected, UsageError

if TYPE_CHECKING:
    from .machine import Machine

GRACE_SECONDS = 2.0  # for each of: end of input, SIGTERM, SIGKILL
TAIL_BYTES = 4096


def describe(target: Any) -> dict[str, Any]:
    """One form for all the ways to name a server."""
    if isinstance(target, Mapping):
        if "url" not in target and "command" not in target:
            raise UsageError("a server description has a `url` or a `command`")
        return dict(target)
    if isinstance(target, (list, tuple)) and target:
        return {"command": str(target[0]), "args": [str(part) for part in target[1:]]}
    text = os.fspath(target) if isinstance(target, (str, os.PathLike)) else ""
    if not text.strip():
        raise UsageError("a server is a URL, a command, a path, a description or a `Server`")
    if text.startswith(("http://", "https://")):
        return {"url": text}
    runner = {".py": sys.executable, ".js": "node", ".mjs": "node"}.get(os.path.splitext(text)[1])
    if runner is not None and os.path.exists(text):
        return {"command": runner, "args": [text]}
    if os.path.exists(text):
        return {"command": text}
    command, *args = shlex.split(text)
    return {"command": command, "args": args}


class Child(asyncio.SubprocessProtocol):
    """A server process of our own, in a process group of its own."""

    def __init__(self, machine: Machine, described: dict[str, Any], on_stderr: Callable[[str], None] | None) -> None:
        self._machine = machine
        self._described = described
        self._on_stderr = on_stderr
        self._tail = b""
        self._open = {1, 2}
        self._exited: asyncio.Future[None] = machine.loop.create_future()
        self._over = self._stopped = False
        self._transport: Any = None
        self.outlet = Outlet(machine)

    async def start(self) -> None:
        described = self._described
        env = {**os.environ, **described.get("env", {})}
        command = shutil.which(described["command"], path=env.get("PATH")) or described["command"]
        try:
            self._transport, _ = await self._machine.loop.subprocess_exec(
                lambda: self,
                command,
                *described.get("args", ()),
                env=env,
                cwd=described.get("cwd"),
                start_new_session=True,
            )
        except OSError as error:
            raise Disconnected(f"cannot start {described['command']!r}: {error}") from error
        self.outlet.transport = self._transport.get_pipe_transport(0)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._machine.receive(data)
            return
        self._tail = (self._tail + data)[-TAIL_BYTES:]
        text = data.decode("utf-8", "replace")
        if self._on_stderr is not None:
            self._on_stderr(text)
        elif sys.stderr is not None:
            sys.stderr.write(text)

    def pipe_connection_lost(self, fd: int, error: Exception | None) -> None:
        if fd == 0:
            self.outlet.lost()
        self._open.discard(fd)
        self._ending()

    def process_exited(self) -> None:
        if not self._exited.done():
            self._exited.set_result(None)
        self._ending()

    def _ending(self) -> None:
        # The end of one comes before the other; a grandchild may hold the pipes for ever.
        if self._exited.done() and not self._open:
            self._end()
        elif self._exited.done() or 1 not in self._open:
            self._machine.loop.call_later(0.25, self._end)

    def _end(self) -> None:
        if not self._over:
            self._over = True
            self._machine.ended(self._epitaph())

    def _epitaph(self) -> str:
        code = self._transport.get_returncode() if self._transport is not None else None
        if code is None:
            said = "the server process closed its output"
        elif code < 0:
            said = f"the server process was ended by signal {-code}"
        else:
            said = f"the server process ended with exit code {code}"
        tail = self._tail.decode("utf-8", "replace").strip()
        return f"{said}; its last words: {tail}" if tail else said

    def pause_writing(self) -> None:
        self.outlet.pause(True)

    def resume_writing(self) -> None:
        self.outlet.pause(False)

    def close_input(self) -> None:
        self.outlet.close()

    async def stop(self) -> None:
        if self._transport is None or self._stopped:
            return
        self.close_input()
        for number in (None, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            if number is not None:
                self._signal(number)
            await asyncio.wait([self._exited], timeout=GRACE_SECONDS)
            if self._exited.done():
                break
        self._signal(signal.SIGTERM)  # processes it left behind
        self._stopped = True
        self._transport.close()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._transport.get_pid(), number)
            else:
                self._transport.send_signal(number)


class Loopback:
    """The transport of an outlet that leads to another object in this process."""

    def __init__(self, write: Callable[[bytes], None], close: Callable[[], None]) -> None:
        self.write = write
        self.close = close

    def get_write_buffer_size(self) -> int:
        return 0


class Memory:
    """A `Server` in the same event loop."""

    def __init__(self, machine: Machine, server: Any) -> None:
        engine = server._engine()
        back = Outlet(engine)
        back.transport = Loopback(machine.receive, lambda: machine.ended("the server closed the connection"))
        self.outlet = Outlet(machine)
        self._engine = engine
        self._back = back
        self._stream = 0

    async def start(self) -> None:
        engine = self._engine
        self._stream, _ = engine.attach(self._back)
        engine.feed(engine.core.open, self._stream, "pipe")
        self.outlet.transport = Loopback(
            lambda data: engine.feed(engine.core.receive, self._stream, data), lambda: engine.end(self._stream)
        )

    def close_input(self) -> None:
        self.outlet.close()

    async def stop(self) -> None:
        self._engine.gone(self._stream)
