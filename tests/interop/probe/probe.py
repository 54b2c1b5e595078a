"""Runs a list of steps against any server with the Python client: one JSON line for each step.

`probe.py --steps FILE [--dir FOLDER] (--http URL | --stdio -- COMMAND ARGS...)`
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from mcp_keel import Client, PeerError

# Every step is bounded by this many seconds.
EACH = 20


class Failed(Exception):
    """A step that did not hold."""


def misses(got: Any, wanted: Any) -> str | None:
    """What of `wanted` is not in `got`: members of objects, elements of lists in their order, `{"contains": text}`."""
    if isinstance(wanted, dict) and wanted.keys() == {"contains"} and isinstance(got, str):
        return None if wanted["contains"] in got else f"{got!r} has no {wanted['contains']!r}"
    if isinstance(wanted, dict) and isinstance(got, dict):
        for name, value in wanted.items():
            if name not in got:
                return f"no {name}"
            if (why := misses(got[name], value)) is not None:
                return f"{name}: {why}"
        return None
    if isinstance(wanted, list) and isinstance(got, list):
        rest = iter(got)
        for value in wanted:
            if not any(misses(element, value) is None for element in rest):
                return f"no {value!r} in {got!r}"
        return None
    return None if got == wanted else f"got {got!r}, wanted {wanted!r}"


async def step(client: Client, what: dict[str, Any]) -> None:
    seen: list[Any] = []
    told = (lambda step: seen.append(step["progress"])) if "progress" in what else None
    every_page = what["method"].endswith("/list")
    try:
        result = await client.request(what["method"], what.get("params"), progress=told, every_page=every_page)
    except PeerError as error:
        if error.rpc_code != what.get("error"):
            raise
        return
    if "error" in what:
        raise Failed(f"no error, but {result!r}")
    if (why := misses(result, what["expect"])) is not None:
        raise Failed(why)
    if "progress" in what and seen != what["progress"]:
        raise Failed(f"progress {seen!r}")


def client_for(target: Any, answers: dict[str, Any]) -> Client:
    elicited, sampled = answers.get("elicitation/create"), answers.get("sampling/createMessage")
    return Client(
        target,
        on_elicit=(lambda _: elicited["content"]) if elicited else None,
        on_sample=(lambda _: sampled) if sampled else None,
    )


async def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=Path, required=True)
    parser.add_argument("--dir", default="")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--http", metavar="URL")
    way.add_argument("--stdio", action="store_true")
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    # As text inside of JSON, whatever is in the folder's name.
    folder = json.dumps(options.dir)[1:-1]
    plan = json.loads(options.steps.read_text().replace("$DIR", folder))
    client = client_for(options.command if options.stdio else options.http, plan["answers"])
    steps: list[tuple[str, Callable[[], Awaitable[Any]]]] = [("connect", client.connect)]
    steps += [(what["check"], partial(step, client, what)) for what in plan["steps"]]
    steps.append(("close", client.close))
    fine = True
    for name, run in steps:
        line: dict[str, Any] = {"check": name, "ok": True}
        try:
            await asyncio.wait_for(run(), EACH)
        except Exception as error:
            line.update(ok=False, error=f"{type(error).__name__}: {error}")
            fine = False
        print(json.dumps(line, ensure_ascii=False), flush=True)
        if name == "connect" and not fine:
            break
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
