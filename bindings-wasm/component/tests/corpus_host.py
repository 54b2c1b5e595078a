"""One object of the component in wasmtime, driven by JSON lines. Its twin for Node has the same name."""

import base64
import json
import sys
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from wasmtime import component as wit

sys.path.insert(0, str(Path(__file__).parents[1] / "examples/wasmtime"))
from keel import Keel, Object, Refused  # noqa: E402

# wasmtime asks the library for every part of a type whenever a value crosses. Types stay what they are, so they are kept:
# with that the corpus takes half as long.
for owner, names in {
    wit.FuncType: ["params", "result"],
    wit.ListType: ["element"],
    wit.RecordType: ["fields"],
    wit.VariantType: ["cases"],
    wit.ResultType: ["ok", "err"],
    wit.EnumType: ["names"],
}.items():
    for name in names:
        kept = cached_property(getattr(owner, name).fget)
        kept.__set_name__(owner, name)
        setattr(owner, name, kept)
wit.Func.type = lru_cache(wit.Func.type)  # type: ignore[method-assign]

keel = Keel()
held: Object | None = None


def create(asked: dict[str, Any]) -> Object:
    if asked["object"] == "http1":
        return keel.http1()
    make = {"server": keel.server, "client": keel.client}[asked["object"]]
    return make(asked["config"], bytes.fromhex(asked["seed"]))


def argument(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("bytes"), str):
        return base64.b64decode(value["bytes"])
    if isinstance(value.get("utf8"), str):
        return value["utf8"].encode()
    return json.dumps(value)


def text(value: str | bytes) -> Any:
    if isinstance(value, str):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode()}


def call(asked: dict[str, Any]) -> dict[str, Any]:
    arguments = map(argument, asked["args"])
    if asked["method"] == "target":
        answer = keel.call("[static]http1.target", *arguments)
    else:
        answer = getattr(held, asked["method"])(*arguments)
    if not isinstance(answer, list):
        return {"text": text(answer)}
    records = [(r.kind.replace("-", "_"), r.stream, r.id, r.name, text(r.payload), r.until) for r in answer]
    return {"records": records}


def answer(line: bytes) -> dict[str, Any]:
    global held
    try:
        asked = json.loads(line)
        if asked["op"] == "new":
            if held is not None:
                held.drop()
                held = None
            held = create(asked)
            return {"ok": True}
        return call(asked)
    except Refused as error:
        return {"error": {"code": error.code, "message": str(error)}}
    except Exception as error:
        return {"error": {"code": "host_error", "message": f"{type(error).__name__}: {error}"}}


for line in sys.stdin.buffer:
    print(json.dumps(answer(line)), flush=True)
