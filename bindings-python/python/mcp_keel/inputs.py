"""What servers ask of a client's user: forms, texts of a model, folders."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from .driver import threads
from .errors import McpError
from .types import Root


class Inputs:
    """The user's handlers, by the method that servers ask with."""

    def __init__(self, on_elicit: Any, on_sample: Any, roots: Any) -> None:
        self._handlers: dict[str, Callable[[dict[str, Any]], Any]] = {}
        self.capabilities: dict[str, Any] = {}
        if on_elicit is not None:
            self.capabilities["elicitation"] = {}
            self._handlers["elicitation/create"] = lambda params: _elicited(on_elicit, params)
        if on_sample is not None:
            self.capabilities["sampling"] = {}
            self._handlers["sampling/createMessage"] = lambda params: _sampled(on_sample, params)
        if roots is not None:
            self.capabilities["roots"] = {"listChanged": True} if callable(roots) else {}
            self._handlers["roots/list"] = lambda _: _rooted(roots)

    async def answer(self, method: str, params: dict[str, Any]) -> Any:
        handler = self._handlers.get(method)
        if handler is None:
            raise McpError(-32601, f"no handler for {method}")
        return await handler(params)


async def _user(handler: Callable[..., Any], *args: Any) -> Any:
    if inspect.iscoroutinefunction(handler):
        return await handler(*args)
    value = await threads.run(lambda: handler(*args))  # it may ask at a console
    return await value if inspect.isawaitable(value) else value


async def _elicited(handler: Callable[..., Any], params: dict[str, Any]) -> Any:
    content = await _user(handler, params)
    if content is None or content is False:
        return {"action": "decline" if content is None else "cancel"}
    return {"action": "accept"} if content is True else {"action": "accept", "content": content}


async def _sampled(handler: Callable[..., Any], params: dict[str, Any]) -> Any:
    result = await _user(handler, params)
    if isinstance(result, str):
        return {"role": "assistant", "content": {"type": "text", "text": result}, "model": "unknown"}
    return result


async def _rooted(roots: Any) -> dict[str, list[Root]]:
    listed = await _user(roots) if callable(roots) else roots
    return {"roots": [_root(root) for root in listed]}


def _root(root: Any) -> Root:
    if isinstance(root, Mapping):
        return cast(Root, dict(root))
    if isinstance(root, str) and "://" in root:
        return {"uri": root}
    from pathlib import Path

    path = Path(root).absolute()
    return {"uri": path.as_uri(), "name": path.name}
