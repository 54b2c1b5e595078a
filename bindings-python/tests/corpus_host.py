"""The Python host of the shared corpus: drives the native objects as JSON lines on its input say.

A line is `{"op": "new", "object", "config", "seed"}` or `{"op": "call", "method", "args"}`; each gets one
line as its answer. There is one object at a time.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

from mcp_keel._native import FlatClient, FlatHttp1, FlatServer, NativeError


def make(line: dict[str, Any]) -> Any:
    if line["object"] == "http1":
        return FlatHttp1()
    kind = {"server": FlatServer, "client": FlatClient}[line["object"]]
    return kind(line["config"], bytes.fromhex(line["seed"]))


def argument(value: Any) -> Any:
    """A value as it is, or bytes: `{"bytes": base64}` or `{"utf8": text}`."""
    if isinstance(value, dict) and value.keys() == {"bytes"}:
        return base64.b64decode(value["bytes"])
    if isinstance(value, dict) and value.keys() == {"utf8"}:
        return value["utf8"].encode()
    return value


def shown(data: str | bytes) -> Any:
    if isinstance(data, str):
        return data
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(data).decode()}


def answer(result: Any) -> dict[str, Any]:
    if isinstance(result, list):
        return {"records": [[*record[:4], shown(record[4]), record[5]] for record in result]}
    return {"text": shown(result)}


def main() -> None:
    current: Any = None
    for text in sys.stdin.buffer:
        line = json.loads(text)
        try:
            if line["op"] == "new":
                current = make(line)
                said: dict[str, Any] = {"ok": True}
            else:
                said = answer(getattr(current, line["method"])(*map(argument, line["args"])))
        except NativeError as error:
            said = {"error": {"code": error.code, "message": str(error)}}
        sys.stdout.write(json.dumps(said, ensure_ascii=True) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
