"""Model Context Protocol servers and clients on the core that all Keel languages share.

Everything is loaded when it is first used, so that importing this package costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .client import Client
    from .context import Context
    from .errors import (
        Cancelled,
        Disconnected,
        InternalError,
        InvalidError,
        KeelError,
        LimitError,
        McpError,
        PeerError,
        RequestTimeout,
        UsageError,
    )
    from .server import Server
    from .sync import SyncClient
    from .types import Audio, Embedded, Image, Link, Text, ToolResult

__all__ = [
    "Audio",
    "Cancelled",
    "Client",
    "Context",
    "Disconnected",
    "Embedded",
    "Image",
    "InternalError",
    "InvalidError",
    "KeelError",
    "LimitError",
    "Link",
    "McpError",
    "PeerError",
    "RequestTimeout",
    "Server",
    "SyncClient",
    "Text",
    "ToolResult",
    "UsageError",
]

_HOME = {
    "Client": "client",
    "SyncClient": "sync",
    "Context": "context",
    "Server": "server",
    "Audio": "types",
    "Embedded": "types",
    "Image": "types",
    "Link": "types",
    "Text": "types",
    "ToolResult": "types",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_HOME.get(name, 'errors')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
