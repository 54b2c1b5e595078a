"""Hints to schemas, JSON to the hinted types, values to JSON."""

import datetime
import enum
import json
import sys
import types
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict, Union

import pytest

from mcp_keel import Context, Image, InvalidError, Text, UsageError
from mcp_keel.schema import Compiler, Parameters, encode, form, output
from mcp_keel.types import Block, ToolResult


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(NamedTuple):
    x: int
    y: float = 0.0


@dataclass
class Address:
    street: str
    zip: Annotated[str, "postal code"] = "0000"


@dataclass
class Person:
    """Somebody."""

    name: str
    address: Address
    tags: list[str] = field(default_factory=list)


@dataclass
class Tree:
    value: int
    children: "list[Tree]" = field(default_factory=list)


class Partial(TypedDict, total=False):
    a: int


class Movie(Partial):
    title: str


def schema_of(hint: Any) -> Any:
    compiler = Compiler()
    return compiler.root(compiler.compile(hint).schema)


def decoded(hint: Any, value: Any) -> Any:
    return Compiler().compile(hint)(value)


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict[str, Any], {"type": "object"}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (
            tuple[int, str],
            {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [{"type": "integer"}, {"type": "string"}]},
        ),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, "b"], {"enum": [1, "b"]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Annotated[int, "how many", {"minimum": 1}], {"type": "integer", "description": "how many", "minimum": 1}),
        (datetime.date, {"type": "string", "format": "date"}),
        (
            Movie,
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "title": {"type": "string"}},
                "required": ["title"],
            },
        ),
        (
            Person,
            {
                "description": "Somebody.",
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "address": {"$ref": "#/$defs/Address"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["name", "address"],
                "$defs": {
                    "Address": {
                        "title": "Address",
                        "type": "object",
                        "properties": {
                            "street": {"type": "string"},
                            "zip": {"type": "string", "description": "postal code", "default": "0000"},
                        },
                        "required": ["street"],
                    }
                },
            },
        ),
    ],
)
def test_schema(hint: Any, schema: Any) -> None:
    assert schema_of(hint) == schema


def test_a_type_may_hold_itself() -> None:
    schema = schema_of(Tree)
    assert schema["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["properties"]["value"] == {"type": "integer"}
    assert decoded(Tree, {"value": 1, "children": [{"value": 2}]}) == Tree(1, [Tree(2)])


@pytest.mark.parametrize(
    ("hint", "value", "wanted"),
    [
        (int, 9007199254740993, 9007199254740993),
        (int, 3.0, 3),
        (float, 3, 3.0),
        (Union[float, int], 9007199254740993, 9007199254740993),
        (Color, "red", Color.RED),
        (Level, 2, Level.HIGH),
        (set[Color], ["red", "red"], {Color.RED}),
        (tuple[int, Color], [1, "blue"], (1, Color.BLUE)),
        (dict[Color, int], {"red": 1}, {Color.RED: 1}),
        (Optional[Address], {"street": "s"}, Address("s")),
        (Union[Address, str], "s", "s"),
        (Union[datetime.date, str], "2024-02-30", "2024-02-30"),
        (
            datetime.datetime,
            "2024-01-02T03:04:05Z",
            datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
        ),
        (bytes, "aGk=", b"hi"),
        (uuid.UUID, "12345678-1234-5678-1234-567812345678", uuid.UUID("12345678-1234-5678-1234-567812345678")),
        (Path, "/a", Path("/a")),
        (Point, [1, 2], Point(1, 2.0)),
        (Movie, {"title": "t", "more": 1}, {"title": "t"}),
        (Person, {"name": "n", "address": {"street": "s"}}, Person("n", Address("s"))),
    ],
)
def test_decode(hint: Any, value: Any, wanted: Any) -> None:
    got = decoded(hint, value)
    assert got == wanted and type(got) is type(wanted)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Person("ü", Address("s"), ["a"]), '{"name":"ü","address":{"street":"s","zip":"0000"},"tags":["a"]}'),
        ({"c": Color.RED, "l": Level.HIGH}, '{"c":"red","l":2}'),
        (
            {
                1,
            },
            "[1]",
        ),
        (datetime.date(2024, 1, 2), '"2024-01-02"'),
        (b"hi", '"aGk="'),
        (2**70, str(2**70)),
    ],
)
def test_encode(value: Any, text: str) -> None:
    assert encode(value) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_what_has_no_json_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        encode(value)


def test_parameters_of_a_handler() -> None:
    def handler(city: Annotated[str, "where"], days: int = 3, *, color: Color = Color.RED, ctx: Context) -> None: ...

    parameters = Parameters(handler, Context, {})
    assert parameters.context == "ctx"
    assert parameters.schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "where"},
            "days": {"type": "integer", "default": 3},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        },
        "required": ["city"],
    }
    assert parameters.decode({"city": "Oslo", "color": "blue", "unknown": 1}) == {"city": "Oslo", "color": Color.BLUE}
    assert parameters.decode_texts({"city": "5", "days": "5"}) == {"city": "5", "days": 5}
    with pytest.raises(InvalidError, match="invalid arguments: color: "):
        parameters.decode({"color": "green"})


def test_what_cannot_be_a_tool_is_refused_when_registered() -> None:
    def stars(*args: int) -> None: ...
    def unknown(value: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821
    def opaque(value: types.SimpleNamespace) -> None: ...

    for handler in (stars, unknown, opaque):
        with pytest.raises(UsageError):
            Parameters(handler, Context, {})


@pytest.mark.parametrize(
    ("hint", "root", "wrapped"),
    [
        (str, None, False),
        (None, None, False),
        (Any, None, False),
        (Image, None, False),
        (list[Text], None, False),
        (list[Any], None, False),
        (Union[str, Image], None, False),
        (ToolResult, None, False),
        (int, "integer", True),
        (list[int], "array", True),
        (Address, "object", False),
        (dict[str, int], "object", False),
    ],
)
def test_output(hint: Any, root: str | None, wrapped: bool) -> None:
    schema, wrap = output(hint, (Block, ToolResult))
    assert wrap == wrapped
    if root is None:
        assert schema is None
    else:
        assert schema is not None and schema["type"] == "object"
        assert not wrap or schema["properties"]["result"]["type"] == root


def test_forms_are_flat() -> None:
    @dataclass
    class Form:
        name: str
        age: Optional[int] = None

    schema, decode = form(Form)
    assert schema["properties"] == {"name": {"type": "string"}, "age": {"type": "integer"}}
    assert schema["required"] == ["name"]
    assert decode({"name": "Ada"}) == Form("Ada")
    schema, decode = form(bool)
    assert schema["required"] == ["value"] and decode({"value": True}) is True


def test_models_of_pydantic_are_left_to_pydantic() -> None:
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")

    class Inner(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        n: int = pydantic.Field(ge=1)

    class Model(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        inner: Inner

    schema = schema_of(Model)
    assert schema["type"] == "object" and schema["$defs"]["Inner"]["properties"]["n"]["minimum"] == 1
    value = decoded(Model, {"inner": {"n": 2}})
    assert value.inner.n == 2 and json.loads(encode(value)) == {"inner": {"n": 2}}
    assert schema_of(list[Model])["items"]["properties"].keys() == {"inner"}


def test_models_of_msgspec_are_left_to_msgspec() -> None:
    msgspec = pytest.importorskip("msgspec", reason="msgspec is not installed")
    Model = msgspec.defstruct("Model", [("n", int)])
    assert schema_of(Model)["properties"] == {"n": {"type": "integer"}}
    assert json.loads(encode(decoded(Model, {"n": 2}))) == {"n": 2}
    assert "msgspec" in sys.modules
