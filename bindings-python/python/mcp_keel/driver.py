"""Performing what the core says: one pump per core object, and the ends of pipes.

A pump calls one method of its core, takes all records that come out, and performs them in order.
It runs in one event loop; the core is never called from another thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from ._native import NativeError
from .errors import InternalError, from_native
from .trace import Tell

# A stream with more than this to send is full: what may be lost is dropped, the rest waits.
FULL = 4 * 1024 * 1024
# Small writes are joined up to this size.
PIECE = 65536
# From this many characters on, a text is worth being handed over rather than copied.
LONG = 65536


def handed(text: str) -> str | list[str]:
    """For an argument of the core that it keeps: the caller must not refer to a long text any more."""
    return text if len(text) < LONG else [text]


class Pump:
    """Owns one core object: its deadline, and the order in which records are performed."""

    trace: Tell | None

    def __init__(self, core: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.core = core
        self.loop = loop
        self._time = loop.time
        self.thread = threading.get_ident()
        self.batch: list[Outlet] | None = None
        self._acts: dict[str, Any] = {name[3:]: getattr(self, name) for name in dir(self) if name.startswith("on_")}
        self._records: deque[Any] = deque()
        self.starts: deque[Callable[[], None]] = deque()
        self._performing = self._starting = False
        self._due = 0
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, method: Callable[..., Any], *args: Any) -> None:
        """Calls a method of the core and performs the records. UsageError when the core refuses."""
        try:
            records = method(*args, int(self._time() * 1000))
        except NativeError as refused:
            error = from_native(refused)
            if isinstance(error, InternalError):
                self.broke(error)
            raise error from None
        self._records.extend(records)
        del records
        # Records that user code causes while others are performed come after those; handlers start last.
        if not self._performing:
            self._performing = True
            pending, acts = self._records, self._acts
            try:
                while pending:
                    kind, stream, id, name, text, until = pending.popleft()
                    if kind == "wait":
                        self._wait(until)
                    elif kind in acts:
                        try:
                            acts[kind](stream, id, name, text, until)
                        except Exception as error:
                            self.report(f"while handling {kind!r}", error)
                    text = None  # it may be large, and handlers run below
            finally:
                self._performing = False
        if not self._starting:
            self._starting = True
            try:
                while self.starts:
                    self.starts.popleft()()
            finally:
                self._starting = False

    def feed_batch(self, method: Callable[..., Any], *args: Any) -> None:
        """`feed` for bytes that arrived: what is written meanwhile leaves at the end, without another turn."""
        written: list[Outlet] = []
        self.batch = written
        try:
            self.feed(method, *args)
        finally:
            self.batch = None
            for outlet in written:
                outlet.flush()

    def _wait(self, until: int) -> None:
        # A timer that fires too early waits again: cheaper than a new one for every call.
        self._due = until
        if until and (self._timer is None or self._timer.when() * 1000 > until):
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self.loop.call_at(until / 1000, self._alarm)

    def _alarm(self) -> None:
        self._timer = None
        if self._due and self.loop.time() * 1000 >= self._due:
            self.feed(self.core.timeout)
        elif self._due:
            self._timer = self.loop.call_at((self._due + 1) / 1000, self._alarm)

    def do(self, method: Callable[..., Any], *args: Any) -> None:
        """`feed` from any thread."""
        if threading.get_ident() == self.thread:
            self.feed(method, *args)
        else:
            self.loop.call_soon_threadsafe(self.feed, method, *args)

    def on_trace(self, stream: int, conversation: int, direction: str, text: str, until: int) -> None:
        if self.trace is not None:
            self.trace(direction, text, conversation)

    def report(self, message: str, error: BaseException) -> None:
        self.loop.call_exception_handler({"message": f"mcp_keel: {message}", "exception": error})

    def broke(self, error: InternalError) -> None:
        """The core object is lost: whatever waits for it has to end. For subclasses."""

    def stop(self) -> None:
        self._due = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Outlet:
    """Where a stream is written to: all of one turn of the loop leaves in one write.

    What the transport does not take yet stays here, in the pieces that it came in: the transport would copy it.
    """

    def __init__(self, pump: Pump) -> None:
        self.pump = pump
        self.loop = pump.loop
        self.transport: Any = None
        self.paused = False
        self._parts: deque[bytes] = deque()
        self._size = 0
        self._waiting: list[asyncio.Future[None]] = []

    def write(self, data: bytes) -> None:
        if not self._parts:
            if self.pump.batch is not None:
                self.pump.batch.append(self)
            else:
                self.loop.call_soon(self.flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > PIECE:
            self.flush()  # so that a peer which does not read is noticed

    def flush(self) -> None:
        parts = self._parts
        while parts and not self.paused:
            data = parts.popleft()
            if parts and len(data) + len(parts[0]) <= PIECE:
                joined, size = [data], len(data)
                while parts and size + len(parts[0]) <= PIECE:
                    size += len(parts[0])
                    joined.append(parts.popleft())
                data = b"".join(joined)
            self._size -= len(data)
            if self.transport is not None:
                self.transport.write(data)

    def close(self) -> None:
        if self.transport is not None:
            for data in self._parts:
                self.transport.write(data)
            self.transport.close()
        self._parts.clear()
        self._size = 0

    def lost(self) -> None:
        """Nothing can be delivered any more."""
        self._parts.clear()
        self._size = 0
        self.pause(False)

    def full(self) -> bool:
        buffered = self.paused and self.transport is not None
        return buffered and self._size + self.transport.get_write_buffer_size() > FULL

    def pause(self, paused: bool) -> None:
        self.paused = paused
        if not paused:
            self.flush()
        if not self.paused:
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    async def drained(self) -> None:
        """Returns when the peer has read enough to send more."""
        if self.paused:
            future = self.loop.create_future()
            self._waiting.append(future)
            await future


class Source(asyncio.Protocol):
    """The reading end of a pipe."""

    def __init__(self, received: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._received = received
        self._ended = ended

    def data_received(self, data: bytes) -> None:
        self._received(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._ended()


class Sink(asyncio.Protocol):
    """The writing end of a pipe; while it is full, `source` is not read."""

    def __init__(self, outlet: Outlet, lost: Callable[[], None]) -> None:
        self.outlet = outlet
        self.source: Any = None
        self.lost: asyncio.Future[None] = outlet.loop.create_future()
        self._when_lost = lost

    def pause_writing(self) -> None:
        self.outlet.pause(True)
        if self.source is not None:
            self.source.pause_reading()

    def resume_writing(self) -> None:
        self.outlet.pause(False)
        if self.source is not None and not self.outlet.paused:
            self.source.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self.outlet.lost()
        if not self.lost.done():
            self.lost.set_result(None)
        self._when_lost()


class _ThreadReader:
    """Reads a descriptor that the loop cannot watch: a file, a console, a pipe of Windows."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int, protocol: Source) -> None:
        self._go = threading.Event()
        self._go.set()
        # A daemon: the end of the process never waits for a blocked read.
        threading.Thread(target=self._run, args=(loop, fd, protocol), daemon=True).start()

    def _run(self, loop: asyncio.AbstractEventLoop, fd: int, protocol: Source) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed
            try:
                while data := os.read(fd, 65536):
                    self._go.wait()
                    loop.call_soon_threadsafe(protocol.data_received, data)
            except OSError:
                pass
            loop.call_soon_threadsafe(protocol.connection_lost, None)

    def pause_reading(self) -> None:
        self._go.clear()

    def resume_reading(self) -> None:
        self._go.set()

    def close(self) -> None:
        self._go.set()


class _ThreadWriter:
    """Writes a descriptor that the loop cannot watch."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int, protocol: Sink) -> None:
        self._loop, self._fd, self._protocol = loop, fd, protocol
        self._size = 0
        self._jobs: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with contextlib.suppress(RuntimeError):
            try:
                while (data := self._jobs.get()) is not None:
                    left = memoryview(data)
                    while left:
                        left = left[os.write(self._fd, left) :]
                    self._loop.call_soon_threadsafe(self._written, len(data))
            except OSError:
                pass
            self._loop.call_soon_threadsafe(self._protocol.connection_lost, None)

    def _written(self, count: int) -> None:
        self._size -= count
        if self._protocol.outlet.paused and self._size == 0:
            self._protocol.resume_writing()

    def write(self, data: bytes) -> None:
        self._size += len(data)
        self._jobs.put(data)
        if self._size > 65536 and not self._protocol.outlet.paused:
            self._protocol.pause_writing()

    def get_write_buffer_size(self) -> int:
        return self._size

    def close(self) -> None:
        self._jobs.put(None)


async def open_pipes(loop: asyncio.AbstractEventLoop, read: int, write: int, source: Source, sink: Sink) -> Any:
    """Reads from one descriptor and writes to the other; returns the reading transport."""
    watched = not (os.isatty(read) or os.isatty(write))  # a console is shared with other programs
    if sys.platform == "win32":
        import msvcrt

        watched = False
        for fd in (read, write):
            msvcrt.setmode(fd, os.O_BINARY)
    try:
        if not watched:
            raise ValueError
        sink.outlet.transport, _ = await loop.connect_write_pipe(lambda: sink, os.fdopen(os.dup(write), "wb", 0))
    except (ValueError, OSError, NotImplementedError):
        sink.outlet.transport = _ThreadWriter(loop, write, sink)
    try:
        if not watched:
            raise ValueError
        sink.source, _ = await loop.connect_read_pipe(lambda: source, os.fdopen(os.dup(read), "rb", 0))
    except (ValueError, OSError, NotImplementedError):
        sink.source = _ThreadReader(loop, read, source)
    return sink.source


@contextlib.contextmanager
def own_stdio() -> Any:
    """Takes the standard streams for the protocol: what others print goes to standard error.

    Child processes of handlers get an empty input and standard error as their output. Gives the
    descriptors to read and to write; afterwards everything is as it was.
    """
    read, write = os.dup(0), os.dup(1)
    printed = sys.stdout
    null = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(null, 0)
        os.dup2(2, 1)
        if printed is not None:
            printed.flush()  # what was printed before belongs to standard error too
        sys.stdout = sys.stderr
        yield read, write
    finally:
        sys.stdout.flush()
        sys.stdout = printed
        for fd in (read, write):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                os.set_blocking(fd, True)
        os.dup2(read, 0)
        os.dup2(write, 1)
        for fd in (read, write, null):
            os.close(fd)


class Threads:
    """Where blocking handlers run. Daemon threads: one that hangs does not keep the process."""

    def __init__(self, limit: int = 64) -> None:
        self._limit = limit
        self._count = 0
        self._idle = threading.Semaphore(0)
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()

    async def run(self, work: Callable[[], Any]) -> Any:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._jobs.put((loop, future, work))
        if not self._idle.acquire(blocking=False) and self._count < self._limit:
            self._count += 1
            threading.Thread(target=self._work, daemon=True).start()
        return await future

    def _work(self) -> None:
        while True:
            loop, future, work = self._jobs.get()
            try:
                settle, outcome = future.set_result, work()
            except BaseException as error:
                settle, outcome = future.set_exception, error
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(_settle, future, settle, outcome)
            del loop, future, work, settle, outcome
            self._idle.release()


def _settle(future: asyncio.Future[Any], settle: Callable[[Any], None], outcome: Any) -> None:
    if not future.done():
        settle(RuntimeError("StopIteration") if isinstance(outcome, StopIteration) else outcome)


threads = Threads()
