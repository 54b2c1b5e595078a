"""The component in wasmtime."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import wasmtime
from wasmtime import component as wit

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples/wasmtime"
sys.path.insert(0, str(EXAMPLES))
from keel import COMPONENT, FLAT, Keel, Refused  # noqa: E402

CONFIG = '{"info":{"name":"adder","version":"1.0"}}'


def argument(value: Any) -> Any:
    return value["utf8"].encode() if isinstance(value, dict) else value


def plain(record: Any) -> dict[str, Any]:
    payload = record.payload
    shown = {**vars(record), "payload": {"utf8": payload.decode()} if isinstance(payload, bytes) else payload}
    return {name: value for name, value in shown.items() if value}


def test_a_session_of_each_era() -> None:
    server = Keel().server(CONFIG, bytes(32))
    for step in json.loads((HERE / "session.json").read_text()):
        try:
            answer = getattr(server, step["call"])(*map(argument, step["args"]))
        except Refused as refused:
            assert refused.code == step.get("error"), step
        else:
            assert (list(map(plain, answer)) if isinstance(answer, list) else answer) == step.get("records", step.get("text")), step


def test_it_imports_nothing_and_exports_one_interface() -> None:
    engine = wasmtime.Engine()
    kind = wit.Component.from_file(engine, str(COMPONENT)).type
    assert list(kind.imports(engine)) == []
    assert list(kind.exports(engine)) == [FLAT]


def test_what_is_refused_changes_nothing() -> None:
    keel = Keel()
    for make, config, seed, code in [
        (keel.server, "{", bytes(32), "config_invalid"),
        (keel.client, "{}", bytes(32), "config_invalid"),
        (keel.server, CONFIG, bytes(31), "usage"),
    ]:
        with pytest.raises(Refused) as refused:
            make(config, seed)
        assert refused.value.code == code
    server = keel.server(CONFIG)
    server.open(1, "pipe", 1)
    with pytest.raises(Refused, match="in use"):
        server.open(1, "pipe", 1)
    assert [record.kind for record in server.end(1, 2)] == ["close", "closed", "wait"]


def test_a_trap_stays_in_its_instance() -> None:
    engine = wasmtime.Engine()
    short, other = Keel(engine=engine), Keel(engine=engine)
    server, neighbour = short.server(CONFIG), short.client('{"link":"pipe","info":{"name":"a","version":"1"}}')
    survivor = other.server(CONFIG)
    for each in server, survivor:
        each.open(1, "pipe", 1)
    # No more memory than it has by now: the message does not fit.
    short.store.set_limits(memory_size=0)
    with pytest.raises(wasmtime.WasmtimeError, match="wasm trap"):
        server.receive(1, b"[" * 300_000, 2)
    # The instance is used up, whatever of it is called.
    with pytest.raises(wasmtime.WasmtimeError, match="cannot enter component instance"):
        server.timeout(3)
    with pytest.raises(wasmtime.WasmtimeError, match="cannot enter component instance"):
        neighbour.start(3)
    assert [record.kind for record in survivor.end(1, 3)][-1] == "wait"


def test_the_example() -> None:
    printed = subprocess.run([sys.executable, EXAMPLES / "host.py"], check=True, capture_output=True, text=True, timeout=60)
    assert printed.stdout == "connected to adder\nit is 5\nclosed\n"
