"""Importing the package costs next to nothing."""

import subprocess
import sys

HEAVY = (
    "asyncio",
    "typing",
    "inspect",
    "dataclasses",
    "json",
    "ssl",
    "logging",
    "pydantic",
    "msgspec",
    "mcp_keel._native",
)


def modules_after(code: str) -> set[str]:
    script = f"import sys; before = set(sys.modules); {code}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_nothing_but_itself() -> None:
    loaded = modules_after("import mcp_keel")
    assert not loaded.intersection(HEAVY)
    assert loaded <= {"mcp_keel", "__future__"}


def test_server_loads_no_model_library_and_no_client() -> None:
    loaded = modules_after("from mcp_keel import Server, Context; Server('x')")
    assert not loaded.intersection({"pydantic", "msgspec", "mcp_keel.client", "mcp_keel.http", "importlib.metadata"})


def test_every_name_of_the_package_is_there() -> None:
    import mcp_keel

    for name in mcp_keel.__all__:
        assert getattr(mcp_keel, name).__name__ == name
    assert set(dir(mcp_keel)) == set(mcp_keel.__all__)
