"""Servers: handlers are registered on a `Server`; an `Engine` runs it in one event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from .context import Context
from .driver import Outlet, Sink, Source, open_pipes, own_stdio, threads
from .engine import Engine, Handler, log_failure
from .errors import InvalidError, McpError, PeerError, UsageError, words
from .schema import Parameters, encode, output, present
from .types import Block, LogLevel, Text, ToolAnnotations, ToolResult, contents

if TYPE_CHECKING:
    from .http import AsgiApp

F = TypeVar("F", bound=Callable[..., Any])


class Server:
    """A server with its tools, resources and prompts. It may serve many connections at once.

    `hosts` and `origins` are the values of the Host and Origin headers that HTTP requests may have;
    left out, only those of this machine; "any" takes all. `path` is the HTTP endpoint. `limits` are
    bounds by name (`messageBytes`, `nesting`, `batch`, `sessions`, `pendingCalls`, `queueBytes`),
    `page_size` is how many entries a list answers at once (all), `cache` how long clients may keep lists
    (`{"ttlMs", "scope"}`), `capabilities` what is announced beside what is registered, `revisions` which
    revisions of the protocol are spoken (all). `trace(direction, text, conversation)` sees every message,
    ">" sent and "<" received; those of one pipe or session have one conversation, 0 is a message that was
    refused before it belonged to one. Other arguments are members of the server's info.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "0.0.0",
        title: str | None = None,
        instructions: str | None = None,
        path: str = "/mcp",
        hosts: Sequence[str] | Literal["any"] | None = None,
        origins: Sequence[str] | Literal["any"] | None = None,
        page_size: int | None = None,
        capabilities: Mapping[str, Any] | None = None,
        cache: Mapping[str, Any] | None = None,
        limits: Mapping[str, int] | None = None,
        revisions: Sequence[str] | None = None,
        trace: Callable[[str, str, int], object] | None = None,
        **info: Any,
    ) -> None:
        http: dict[str, Any] = {"path": path}
        for key, allowed in (("hosts", hosts), ("origins", origins)):
            if allowed is not None:
                http[key] = None if allowed == "any" else list(allowed)
        self.name = name
        self.path = path
        self._trace = trace
        self._config = {
            "info": present({"name": name, "version": version, "title": title, **info}),
            **present({"instructions": instructions, "pageSize": page_size, "capabilities": capabilities}),
            **present({"cache": cache, "limits": limits, "revisions": revisions}),
            "http": http,
        }
        self._catalog: dict[str, dict[str, dict[str, Any]]] = {
            kind: {} for kind in ("tools", "resources", "resourceTemplates", "prompts")
        }
        self._handlers: dict[str, Handler] = {}
        self._engines: dict[asyncio.AbstractEventLoop, Engine] = {}

    # Registration. A change while clients are connected is announced to them.

    @overload
    def tool(self, handler: F, /) -> F: ...
    @overload
    def tool(
        self,
        handler: None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: ToolAnnotations | None = None,
        output_schema: dict[str, Any] | None = None,
        **more: Any,
    ) -> Callable[[F], F]: ...
    def tool(
        self,
        handler: Any = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: ToolAnnotations | None = None,
        output_schema: dict[str, Any] | None = None,
        **more: Any,
    ) -> Any:
        """Registers a function as a tool; its hints are the input schema, its return hint the output schema.

        A plain function runs in a worker thread. Other members of the tool (`icons`, `_meta`) may be
        given by their wire names. What a tool raises becomes a result with `isError`; an McpError, and
        a PeerError for what the client refused, become that JSON-RPC error.
        """
        names = _scope()
        told = {"name": name, "title": title, "description": description, "annotations": annotations, **more}

        def register(handler: F) -> F:
            parameters = Parameters(handler, Context, names)
            schema, wrap = output(parameters.returns, (Block, ToolResult))
            if output_schema is not None:
                schema, wrap = output_schema, False
            tool = _described(handler, told, inputSchema=parameters.schema, outputSchema=schema)
            call = _caller(handler, parameters)

            async def run(context: Context, arguments: Any) -> str:
                try:
                    value = await call(context, parameters.decode(arguments))
                    arguments = None  # what came in is not needed for what goes out
                    return _tool_result({"result": value} if wrap else value, schema is not None)
                except (McpError, PeerError):
                    raise
                except (Exception, SystemExit) as error:
                    if not isinstance(error, InvalidError):
                        log_failure(tool["name"], error)
                    return encode({"content": [Text(words(error))], "isError": True})

            return self._register("tools", tool["name"], tool, f"tools/call {tool['name']}", run, handler)

        return register if handler is None else register(handler)

    def resource(self, uri: str, **told: Any) -> Callable[[F], F]:
        """Registers a function that gives a resource: text, bytes, or something that has JSON.

        A uri with `{names}` is a template; the names are passed as arguments. Takes `name`, `title`,
        `description`, `mime_type` and others by their wire names.
        """
        names = _scope()
        template = "{" in uri
        mime = told.pop("mime_type", None)

        def register(handler: F) -> F:
            parameters = Parameters(handler, Context, names)
            call = _caller(handler, parameters)
            key = "uriTemplate" if template else "uri"
            entry = {key: uri, **_described(handler, told, mimeType=mime)}

            async def run(context: Context, asked: Any) -> str:
                value = await call(context, parameters.decode_texts(asked.get("variables") or {}))
                if isinstance(value, dict) and "contents" in value:
                    return encode(value)
                if isinstance(value, (str, bytes)):
                    made = contents(asked["uri"], value, mime)
                else:
                    made = contents(asked["uri"], encode(value), mime or "application/json")
                return encode({"contents": [made]})

            kind = "resourceTemplates" if template else "resources"
            return self._register(kind, uri, entry, f"resources/read {uri}", run, handler)

        return register

    @overload
    def prompt(self, handler: F, /) -> F: ...
    @overload
    def prompt(
        self,
        handler: None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        **more: Any,
    ) -> Callable[[F], F]: ...
    def prompt(
        self,
        handler: Any = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        **more: Any,
    ) -> Any:
        """Registers a function that gives a prompt: a text, or messages (texts, blocks, message dicts)."""
        names = _scope()
        told = {"name": name, "title": title, "description": description, **more}

        def register(handler: F) -> F:
            parameters = Parameters(handler, Context, names)
            call = _caller(handler, parameters)
            required = parameters.schema.get("required", ())
            properties = parameters.schema["properties"]
            arguments = [
                present({"name": name, "description": part.get("description"), "required": name in required})
                for name, part in properties.items()
            ]
            prompt = _described(handler, told, arguments=arguments)

            async def run(context: Context, given: Any) -> str:
                value = await call(context, parameters.decode_texts(given))
                if isinstance(value, dict) and "messages" in value:
                    return encode(value)
                listed = value if isinstance(value, (list, tuple)) else [value]
                return encode({"messages": [_message(item) for item in listed]})

            return self._register("prompts", prompt["name"], prompt, f"prompts/get {prompt['name']}", run, handler)

        return register if handler is None else register(handler)

    def completion(self, handler: F, /) -> F:
        """Registers the function that completes arguments: called with `ref`, `argument` and `context`."""
        call = _caller(handler, None)

        async def run(context: Context, asked: Any) -> str:
            given = {"ref": asked["ref"], "argument": asked["argument"], "context": asked.get("context")}
            value = await call(context, given)
            return encode({"completion": value if isinstance(value, dict) else {"values": list(value)}})

        self._config["completions"] = True
        self._handlers["completion/complete"] = run
        return handler

    def _register(self, kind: str, key: str, entry: dict[str, Any], route: str, run: Handler, handler: F) -> F:
        if key in self._catalog[kind]:
            raise UsageError(f"{kind}: {key!r} is registered already")
        self._catalog[kind][key] = entry
        self._handlers[route] = run
        self._changed()
        return handler

    def remove(self, kind: Literal["tools", "resources", "resourceTemplates", "prompts"], key: str) -> None:
        """Takes an entry out of the catalog; `key` is its name, uri or template."""
        del self._catalog[kind][key]
        self._changed()

    def _changed(self) -> None:
        for engine in self._running():
            engine.do(engine.core.set_catalog, self._listed())

    def _listed(self) -> str:
        return encode({kind: list(entries.values()) for kind, entries in self._catalog.items()})

    # Telling clients.

    def resource_updated(self, uri: str) -> None:
        """Tells the clients that subscribed to a resource that it changed."""
        for engine in self._running():
            engine.do(engine.core.publish, encode({"resource": uri}))

    def log(self, level: LogLevel, data: Any, logger: str | None = None) -> None:
        """A log message outside of any call."""
        entry = encode(present({"level": level, "data": data, "logger": logger}))
        for engine in self._running():
            engine.do(engine.core.log, 0, entry)

    # Serving.

    def run(self) -> None:
        """Serves on standard input and output until the client ends it, or SIGTERM or SIGINT comes."""
        asyncio.run(self._until_signal(self.serve_stdio()))

    def run_http(self, host: str = "127.0.0.1", port: int = 8000, **options: Any) -> None:
        """Serves HTTP until SIGTERM or SIGINT comes. See `serve_http`."""
        asyncio.run(self._until_signal(self.serve_http(host, port, **options)))

    async def serve_stdio(self) -> None:
        """Serves on standard input and output; returns when the client is gone."""
        with own_stdio() as (read, write):
            await self.serve_pipe(read, write)

    async def serve_pipe(self, read: int, write: int) -> None:
        """Serves one client on two descriptors; returns when it is gone."""
        engine = self._engine()
        outlet = Outlet(engine)
        stream, done = engine.attach(outlet)
        source = Source(lambda data: engine.feed_batch(engine.core.receive, stream, data), lambda: engine.end(stream))
        # The client that does not read any more is gone, and so is the reason to wait for its input.
        sink = Sink(outlet, lambda: engine.gone(stream))
        reading = await open_pipes(engine.loop, read, write, source, sink)
        try:
            engine.feed(engine.core.open, stream, "pipe")
            await done
            # What was answered is delivered; only after `close` it has to be quick.
            await asyncio.wait([sink.lost, engine.closed], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([sink.lost], timeout=2)
        finally:
            engine.gone(stream)
            reading.close()
            outlet.close()

    async def serve_http(
        self,
        host: str = "127.0.0.1",
        port: int = 8000,
        *,
        started: Callable[[int], None] | None = None,
        ssl: Any = None,
        max_connections: int = 4096,
    ) -> None:
        """Serves HTTP until `close`. `started` is called with the port, which is chosen when `port` is 0.

        Connections beyond `max_connections` are answered with status 503 and closed.
        """
        from .http import serve

        await serve(self._engine(), host, port, started, ssl, max_connections)

    def asgi(self) -> AsgiApp:
        """This server as an ASGI application, alone or mounted in another. It needs no lifespan."""
        from .http import asgi

        return asgi(self)

    async def close(self) -> None:
        """Cancels running calls, answers them with an error, and closes all connections of this event loop."""
        engine = self._engines.pop(asyncio.get_running_loop(), None)
        if engine is not None:
            await engine.close()

    async def _until_signal(self, serving: Any) -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(serving)
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, lambda: loop.create_task(self.close()))
        try:
            await task
        finally:
            await self.close()

    def _running(self) -> list[Engine]:
        self._engines = {loop: engine for loop, engine in self._engines.items() if not loop.is_closed()}
        return list(self._engines.values())

    def _engine(self) -> Engine:
        self._running()
        loop = asyncio.get_running_loop()
        engine = self._engines.get(loop)
        if engine is None:
            engine = self._engines[loop] = Engine(self._config, self._listed(), self._handlers, loop, self._trace)
        return engine


def _scope() -> dict[str, Any]:
    """What the hints of a handler may mention beside its module: the names around the decorator."""
    return {"Context": Context, **sys._getframe(2).f_locals}


def _described(handler: Any, told: dict[str, Any], **more: Any) -> dict[str, Any]:
    named = getattr(handler, "__name__", None) or type(handler).__name__
    doc = handler.__doc__
    return present({"name": named, "description": inspect.cleandoc(doc) if doc else None, **present(told), **more})


def _caller(handler: Any, parameters: Parameters | None) -> Callable[[Context, dict[str, Any]], Awaitable[Any]]:
    """How a handler is run: awaited, or in a worker thread when it is a plain function."""
    wanted = parameters.context if parameters is not None else None
    called = handler if inspect.isroutine(handler) else getattr(handler, "__call__", handler)

    def given(context: Context, arguments: dict[str, Any]) -> dict[str, Any]:
        return arguments if wanted is None else {**arguments, wanted: context}

    if inspect.iscoroutinefunction(called):
        return lambda context, arguments: handler(**given(context, arguments))

    async def in_thread(context: Context, arguments: dict[str, Any]) -> Any:
        # The thread sees the context variables of the call.
        copied = contextvars.copy_context()
        value = await threads.run(lambda: copied.run(handler, **given(context, arguments)))
        return await value if inspect.isawaitable(value) else value

    return in_thread


def _tool_result(value: Any, structured: bool) -> str:
    if type(value) is str and not structured:
        return f'{{"content":[{{"type":"text","text":{encode(value)}}}]}}'
    if isinstance(value, ToolResult):
        made = {"content": value.content, "structuredContent": value.structured, "_meta": value.meta}
        return encode({**present(made), **({"isError": True} if value.is_error else {})})
    if structured or (isinstance(value, dict) and not isinstance(value, Block)):
        text = encode(value)
        return f'{{"content":[{{"type":"text","text":{encode(text)}}}],"structuredContent":{text}}}'
    listed = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    if not any(isinstance(item, Block) for item in listed) and listed:
        listed = [encode(value)]
    return encode({"content": [item if isinstance(item, Block) else _text(item) for item in listed]})


def _text(value: Any) -> dict[str, Any]:
    return Text(value if isinstance(value, str) else encode(value))


def _message(item: Any) -> Any:
    if isinstance(item, dict) and "role" in item:
        return item
    return {"role": "user", "content": item if isinstance(item, dict) else _text(item)}
