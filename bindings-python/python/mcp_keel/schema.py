"""From type hints to JSON Schema, from JSON to the hinted types, and from values to JSON.

Plain hints, dataclasses, TypedDict, NamedTuple, enums and `Annotated` are understood here; models of
pydantic and msgspec are left to these libraries when the program has loaded them.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import inspect
import json
import pathlib
import sys
import types
import typing
import uuid
from collections.abc import Callable
from typing import Any, Union

from .errors import InvalidError, UsageError

_ABSENT = inspect.Parameter.empty


class Type:
    """What one hint means: its schema, how to decode a value, and which values it may be."""

    __slots__ = ("accepts", "decode", "schema")

    def __init__(
        self, schema: dict[str, Any], accepts: Callable[[Any], bool], decode: Callable[[Any], Any] | None = None
    ) -> None:
        self.schema = schema
        self.accepts = accepts
        self.decode = decode  # None: the value stays as it is

    def __call__(self, value: Any) -> Any:
        return value if self.decode is None else self.decode(value)


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return _is_number(value) and value == value // 1


def _to_int(value: Any) -> int:
    if type(value) is int:
        return value
    if not _is_integer(value):
        raise ValueError(f"{value!r} is not an integer")
    return int(value)


def _from_base64(text: str) -> bytes:
    from base64 import b64decode

    return b64decode(text, validate=True)


def _to_datetime(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in "zZ" else text)


_SCALARS: dict[Any, tuple[dict[str, Any], Callable[[Any], bool], Callable[[Any], Any] | None]] = {
    Any: ({}, _is(object), None),
    object: ({}, _is(object), None),
    None: ({"type": "null"}, _is(type(None)), None),
    type(None): ({"type": "null"}, _is(type(None)), None),
    str: ({"type": "string"}, _is(str), None),
    bool: ({"type": "boolean"}, _is(bool), None),
    int: ({"type": "integer"}, _is_integer, _to_int),
    float: ({"type": "number"}, _is_number, float),
    bytes: ({"type": "string", "contentEncoding": "base64"}, _is(str), _from_base64),
    dict: ({"type": "object"}, _is(dict), None),
    list: ({"type": "array"}, _is(list), None),
    tuple: ({"type": "array"}, _is(list), tuple),
    set: ({"type": "array", "uniqueItems": True}, _is(list), set),
    frozenset: ({"type": "array", "uniqueItems": True}, _is(list), frozenset),
    datetime.datetime: ({"type": "string", "format": "date-time"}, _is(str), _to_datetime),
    datetime.date: ({"type": "string", "format": "date"}, _is(str), datetime.date.fromisoformat),
    datetime.time: ({"type": "string", "format": "time"}, _is(str), datetime.time.fromisoformat),
    uuid.UUID: ({"type": "string", "format": "uuid"}, _is(str), uuid.UUID),
    pathlib.Path: ({"type": "string"}, _is(str), pathlib.Path),
}
_CONTAINERS: dict[Any, Callable[[Any], Any]] = {
    list: list,
    collections.abc.Sequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    set: set,
    collections.abc.Set: set,
    frozenset: frozenset,
}
_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
    "description": "description",
    "title": "title",
}


class Compiler:
    """Turns hints into `Type`s; named types are gathered in `defs`."""

    def __init__(self, output: bool = False) -> None:
        self.output = output
        self.defs: dict[str, Any] = {}
        self.named: dict[type, Type] = {}

    def compile(self, hint: Any) -> Type:
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is None and hint in _SCALARS:
            schema, accepts, decode = _SCALARS[hint]
            return Type(dict(schema), accepts, decode)
        if origin is typing.Annotated:
            made = self.compile(args[0])
            for extra in args[1:]:
                _annotate(made.schema, extra)
            return made
        if getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly", "Final"):
            return self.compile(args[0])
        if origin is Union or origin is types.UnionType:
            return self.union(args)
        if origin is typing.Literal:
            return _choice(list(args), None)
        if origin is tuple and not (len(args) == 2 and args[1] is ...):
            return self.row(args, tuple)
        if origin is tuple:
            return self.array(args[0], tuple)
        if origin in _CONTAINERS:
            return self.array(args[0], _CONTAINERS[origin])
        if origin in (dict, collections.abc.Mapping, collections.abc.MutableMapping):
            return self.mapping(*args)
        if isinstance(hint, type):
            return self.named_type(hint)
        for unwrap in ("__value__", "__supertype__"):  # `type X = ...` and NewType
            if hasattr(hint, unwrap):
                return self.compile(getattr(hint, unwrap))
        if isinstance(hint, typing.TypeVar):
            return self.compile(Any)
        raise UsageError(f"no JSON Schema for the type hint {hint!r}")

    def union(self, args: tuple[Any, ...]) -> Type:
        # A whole number stays exact when the hint allows integers.
        members = [self.compile(arg) for arg in sorted(args, key=lambda arg: arg is float)]

        def decode(value: Any) -> Any:
            for member in members:
                if member.accepts(value):
                    try:
                        return member(value)
                    except (ValueError, TypeError, KeyError):
                        continue
            raise ValueError(f"{value!r} fits none of the types")

        plain = all(member.decode is None for member in members)
        return Type(
            {"anyOf": [member.schema for member in members]},
            lambda value: any(member.accepts(value) for member in members),
            None if plain else decode,
        )

    def array(self, item: Any, make: Callable[[Any], Any]) -> Type:
        of = self.compile(item)
        schema: dict[str, Any] = {"type": "array", "items": of.schema}
        if make in (set, frozenset):
            schema["uniqueItems"] = True
        plain = of.decode is None and make is list
        return Type(schema, _is(list), None if plain else lambda value: make(map(of, value)))

    def row(self, items: tuple[Any, ...], make: Callable[[Any], Any]) -> Type:
        members = [self.compile(item) for item in items]
        count = len(members)
        schema = {"type": "array", "minItems": count, "maxItems": count}
        if members:
            schema["prefixItems"] = [member.schema for member in members]
        return Type(
            schema,
            lambda value: isinstance(value, list) and len(value) == count,
            lambda value: make(member(part) for member, part in zip(members, value)),
        )

    def mapping(self, key: Any, value: Any) -> Type:
        names, of = self.compile(key), self.compile(value)
        schema: dict[str, Any] = {"type": "object"}
        if of.schema:
            schema["additionalProperties"] = of.schema
        plain = of.decode is None and names.decode is None
        from_text = int if key is int else names
        return Type(
            schema,
            _is(dict),
            None if plain else lambda found: {from_text(k): of(v) for k, v in found.items()},
        )

    def named_type(self, cls: type) -> Type:
        if issubclass(cls, enum.Enum):
            return _choice([member.value for member in cls], cls)
        if cls in self.named:
            return self.named[cls]
        foreign = _foreign(cls, self.output)
        if foreign is not None:
            schema, decode = foreign
            self.defs.update(schema.pop("$defs", {}))
            return Type(schema, _is(dict), decode)
        name = cls.__name__
        while name in self.defs:
            name += "_"
        made = self.named[cls] = Type({"$ref": f"#/$defs/{name}"}, _is(dict))
        self.defs[name] = {}
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            hints = typing.get_type_hints(cls, include_extras=True)
            body = self.row(tuple(hints[field] for field in cls._fields), lambda parts: cls(*parts))
            self.defs[name], made.accepts, made.decode = body.schema, body.accepts, body.decode
        elif typing.is_typeddict(cls):
            self.fields(name, made, cls, _typeddict_fields(cls), lambda **values: values)
        elif dataclasses.is_dataclass(cls):
            self.fields(name, made, cls, _dataclass_fields(cls), cls)
        else:
            raise UsageError(f"no JSON Schema for the class {cls.__qualname__}")
        return made

    def fields(
        self, name: str, made: Type, cls: type, fields: dict[str, tuple[Any, Any]], build: Callable[..., Any]
    ) -> None:
        # A type of its own is known before its fields are: they may mention it.
        parts: dict[str, Type] = {}
        made.decode = lambda value: build(**{key: of(value[key]) for key, of in parts.items() if key in value})
        self.defs[name] = schema = {"title": cls.__name__}
        doc = cls.__doc__
        if doc and not doc.startswith(f"{cls.__name__}(") and "__doc__" in cls.__dict__:
            schema["description"] = inspect.cleandoc(doc)
        body, compiled = self.record(fields)
        parts.update(compiled)
        schema.update(body)
        required = set(body.get("required", ()))
        made.accepts = lambda value: isinstance(value, dict) and required <= value.keys()

    def record(self, fields: dict[str, tuple[Any, Any]]) -> tuple[dict[str, Any], dict[str, Type]]:
        """The schema and decoders of named members, each a hint and a default."""
        parts = {name: self.compile(hint) for name, (hint, _) in fields.items()}
        properties = {}
        for name, (_, default) in fields.items():
            properties[name] = shown = dict(parts[name].schema)
            if default is not _ABSENT and default is not None and "$ref" not in shown:
                try:
                    shown["default"] = json.loads(encode(default))
                except (TypeError, ValueError):
                    pass  # a default that has no JSON is not worth telling
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        required = [name for name, (_, default) in fields.items() if default is _ABSENT]
        if required:
            schema["required"] = required
        return schema, parts

    def root(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A schema that stands alone: the definitions inside, no reference at the top."""
        name = schema.get("$ref", "").removeprefix("#/$defs/")
        if name in self.defs:
            # The name of a class tells nothing where the tool or the form has its own.
            body = {key: value for key, value in self.defs[name].items() if key != "title"}
            schema = {**body, **{k: v for k, v in schema.items() if k != "$ref"}}
        rest = {key: value for key, value in self.defs.items() if _mentions([schema, self.defs], key)}
        return {**schema, "$defs": rest} if rest else schema


def _mentions(schema: Any, name: str) -> bool:
    return f'"#/$defs/{name}"' in json.dumps(schema)


def _annotate(schema: dict[str, Any], extra: Any) -> None:
    if isinstance(extra, str):
        schema["description"] = extra
    elif isinstance(extra, dict):
        schema.update(extra)
    else:  # annotated_types, msgspec.Meta and pydantic's Field agree on these names
        for name, key in _BOUNDS.items():
            if getattr(extra, name, None) is not None:
                schema[key] = getattr(extra, name)
        noun = "Items" if schema.get("type") == "array" else "Length"
        for edge in ("min", "max"):
            if getattr(extra, f"{edge}_length", None) is not None:
                schema[edge + noun] = getattr(extra, f"{edge}_length")
        for inner in getattr(extra, "metadata", None) or ():
            _annotate(schema, inner)


def _choice(values: list[Any], decode: Callable[[Any], Any] | None) -> Type:
    schema: dict[str, Any] = {"enum": values}
    names = {bool: "boolean", int: "integer", str: "string"}
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= names.keys():
        schema = {"type": names[kinds.pop()], **schema}
    return Type(schema, lambda value: value in values, decode)


def _typeddict_fields(cls: Any) -> dict[str, tuple[Any, Any]]:
    fields = {}
    for name, hint in typing.get_type_hints(cls, include_extras=True).items():
        marker = getattr(typing.get_origin(hint), "_name", None)
        optional = marker == "NotRequired" or (marker != "Required" and name not in cls.__required_keys__)
        fields[name] = (hint, None if optional else _ABSENT)
    return fields


def _dataclass_fields(cls: Any) -> dict[str, tuple[Any, Any]]:
    hints = typing.get_type_hints(cls, include_extras=True)
    fields = {}
    for field in dataclasses.fields(cls):
        if field.init:
            made = field.default_factory is not dataclasses.MISSING
            default = _ABSENT if field.default is dataclasses.MISSING else field.default
            fields[field.name] = (hints[field.name], None if made else default)
    return fields


def _foreign(cls: type, output: bool) -> tuple[dict[str, Any], Callable[[Any], Any]] | None:
    """Schema and decoder of a pydantic or msgspec model, if these are loaded and it is one."""
    pydantic, msgspec = sys.modules.get("pydantic"), sys.modules.get("msgspec")
    if pydantic is not None and issubclass(cls, pydantic.BaseModel):
        model: Any = cls
        return model.model_json_schema(mode="serialization" if output else "validation"), model.model_validate
    if msgspec is not None and issubclass(cls, msgspec.Struct):
        return msgspec.json.schema(cls), lambda value: msgspec.convert(value, cls)
    return None


def _default(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset, collections.abc.ValuesView, collections.abc.KeysView)):
        return list(value)
    if isinstance(value, (bytes, bytearray)):
        from base64 import b64encode

        return b64encode(value).decode("ascii")
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (uuid.UUID, pathlib.PurePath)):
        return str(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if hasattr(value, "__struct_fields__"):
        return sys.modules["msgspec"].to_builtins(value)
    raise TypeError(f"no JSON for a value of type {type(value).__qualname__}")


def _encoder() -> Callable[[Any], str]:
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # Python without the module in C
        return json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_default).encode
    quote = json.encoder.encode_basestring
    chunks = make(None, _default, quote, None, ":", ",", False, False, False)
    return lambda value: "".join(chunks(value, 0))


encode = _encoder()
"""JSON text of a value; raises TypeError or ValueError when it has none."""

_scan: Any = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def parse(text: str) -> Any:
    """The value of JSON text that the core has checked."""
    return _scan(text, 0)[0]


def present(members: dict[str, Any]) -> dict[str, Any]:
    """The members that are not None."""
    return {key: value for key, value in members.items() if value is not None}


def failure(code: int, message: str, data: Any = None) -> str:
    """The outcome for a JSON-RPC error; data that has no JSON is left out."""
    try:
        return encode({"error": present({"code": code, "message": message, "data": data})})
    except (TypeError, ValueError):
        return encode({"error": {"code": code, "message": message}})


class Parameters:
    """The parameters of a handler: what clients may send, and how it becomes keyword arguments."""

    def __init__(self, handler: Callable[..., Any], context: type, names: dict[str, Any]) -> None:
        hints = resolve(handler, names)
        self.context: str | None = None
        self.returns = hints.get("return", _ABSENT)
        fields: dict[str, tuple[Any, Any]] = {}
        for name, parameter in inspect.signature(handler).parameters.items():
            hint = hints.get(name, Any)
            if hint is context:
                self.context = name
            elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                fields[name] = (hint, parameter.default)
            else:
                raise UsageError(f"{handler!r}: the parameter {name!r} cannot be passed by name")
        compiler = Compiler()
        schema, self.parts = compiler.record(fields)
        self.schema = compiler.root(schema)
        self.plain = all(part.decode is None for part in self.parts.values())

    def decode(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments; unknown members are left out. InvalidError when something does not fit."""
        parts = self.parts
        if self.plain and arguments.keys() <= parts.keys():
            return arguments
        values = {}
        for name, value in arguments.items():
            if name in parts:
                try:
                    values[name] = parts[name](value)
                except Exception as error:
                    raise InvalidError(f"invalid arguments: {name}: {error}") from error
        return values

    def decode_texts(self, arguments: dict[str, str]) -> dict[str, Any]:
        """Keyword arguments from texts: prompt arguments and the variables of URI templates."""
        values: dict[str, Any] = {}
        for name, text in arguments.items():
            if name in self.parts and not self.parts[name].accepts(text):
                try:
                    values[name] = json.loads(text)
                    continue
                except ValueError:
                    pass  # decode will say that the text does not fit
            values[name] = text
        return self.decode(values)


def resolve(handler: Callable[..., Any], names: dict[str, Any]) -> dict[str, Any]:
    """The hints of a function; `names` are what its annotations may mention beside its globals."""
    target = handler if inspect.isroutine(handler) else type(handler).__call__
    try:
        return typing.get_type_hints(target, localns=names, include_extras=True)
    except NameError as error:
        raise UsageError(f"{handler!r}: {error}; hints must be known when the handler is registered") from error


def output(hint: Any, content: tuple[type, ...]) -> tuple[dict[str, Any] | None, bool]:
    """The output schema of a return hint, and whether values are wrapped as `{"result": ...}`."""
    while typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    args = typing.get_args(hint)
    leaves = args if typing.get_origin(hint) in (list, tuple, Union, types.UnionType) else (hint,)
    if any(hint is plain for plain in (_ABSENT, str, None, type(None))):
        return None, False
    if any(leaf is Any or leaf is object for leaf in leaves):
        return None, False  # it may hold blocks
    if any(isinstance(leaf, type) and issubclass(leaf, content) for leaf in leaves):
        return None, False
    compiler = Compiler(output=True)
    schema = compiler.root(compiler.compile(hint).schema)
    if schema.get("type") == "object":
        return schema, False
    defs = schema.pop("$defs", None)
    wrapped: dict[str, Any] = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return ({**wrapped, "$defs": defs} if defs else wrapped), True


def form(hint: Any) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    """The flat schema of an elicitation form, and how its content becomes the hinted type."""
    if isinstance(hint, dict):
        return hint, lambda content: content
    compiler = Compiler()
    kind = compiler.compile(hint)
    schema = compiler.root(kind.schema)
    if schema.get("type") != "object":
        wrapped = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
        return wrapped, lambda content: kind(content["value"])
    for name, part in schema.get("properties", {}).items():
        options = [option for option in part.get("anyOf", ()) if option != {"type": "null"}]
        if len(options) == 1:  # a form says "may be left out" by not requiring the field
            rest = {key: value for key, value in part.items() if key != "anyOf"}
            schema["properties"][name] = {**options[0], **rest}
    return schema, kind
