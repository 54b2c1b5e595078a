"""The component `keel:mcp` as Python objects, by the package `wasmtime`."""

import secrets
from pathlib import Path
from typing import Any

import wasmtime
from wasmtime import component as wit

FLAT = "keel:mcp/flat@0.1.0"
COMPONENT = Path(__file__).parents[2] / "dist/keel-mcp.wasm"


class Refused(Exception):
    """The component answered with an error; `code` is a stable word."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Keel:
    """One instance of the component. A trap is a `wasmtime.WasmtimeError`: drop the instance then, with all that is of it."""

    def __init__(self, path: Path = COMPONENT, engine: wasmtime.Engine | None = None) -> None:
        engine = engine or wasmtime.Engine()
        self.store = wasmtime.Store(engine)
        # It imports nothing, so there is nothing to link.
        self._instance = wit.Linker(engine).instantiate(self.store, wit.Component.from_file(engine, str(path)))
        self._flat = self._instance.get_export_index(self.store, FLAT)
        self._functions: dict[str, wit.Func] = {}

    def call(self, name: str, *arguments: Any) -> Any:
        """Calls a function by its name in the WIT: `[method]server.open`, `[static]client.new`, `[constructor]http1`."""
        function = self._functions.get(name) or self._function(name)
        answer = function(self.store, *arguments)
        function.post_return(self.store)
        # The two sides of every result in this WIT differ in type, so wasmtime hands them over as they are.
        if isinstance(answer, wit.Record):
            raise Refused(**vars(answer))
        return answer

    def _function(self, name: str) -> wit.Func:
        index = self._instance.get_export_index(self.store, name, self._flat)
        function = self._instance.get_func(self.store, index) if index else None
        if function is None:
            raise AttributeError(name)
        return self._functions.setdefault(name, function)

    def server(self, config: str, seed: bytes | None = None) -> "Object":
        return Object(self, "server", self.call("[static]server.new", config, seed or secrets.token_bytes(32)))

    def client(self, config: str, seed: bytes | None = None) -> "Object":
        return Object(self, "client", self.call("[static]client.new", config, seed or secrets.token_bytes(32)))

    def http1(self) -> "Object":
        return Object(self, "http1", self.call("[constructor]http1"))


class Object:
    """A resource of the component; its methods have the names of the WIT, with `_` for `-`."""

    def __init__(self, keel: Keel, kind: str, handle: Any) -> None:
        self._keel, self._kind, self._handle = keel, kind, handle

    def __getattr__(self, name: str) -> Any:
        full = f"[method]{self._kind}.{name.replace('_', '-')}"
        return lambda *arguments: self._keel.call(full, self._handle, *arguments)

    def drop(self) -> None:
        """Frees it; an object that is only forgotten stays in the instance."""
        self._handle.drop(self._keel.store)
