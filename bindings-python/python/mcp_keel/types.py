"""Payloads as they are on the wire, and small classes for what handlers return.

The `TypedDict`s describe plain dicts; they hold no data of their own. Members that a newer
revision adds are kept in the dicts although no type names them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypedDict, Union

# Unions of single literals: the form in which type checkers and the run time agree.
Role = Union[Literal["user"], Literal["assistant"]]
_Mild = Union[Literal["debug"], Literal["info"], Literal["notice"], Literal["warning"]]
LogLevel = Union[_Mild, Literal["error"], Literal["critical"], Literal["alert"], Literal["emergency"]]
JsonSchema = dict[str, Any]


class Icon(TypedDict, total=False):
    src: str
    mimeType: str
    sizes: list[str]
    theme: Literal["light", "dark"]


class Implementation(TypedDict, total=False):
    name: str
    version: str
    title: str
    description: str
    icons: list[Icon]
    websiteUrl: str


class Annotations(TypedDict, total=False):
    audience: list[Role]
    priority: float
    lastModified: str


class _TextContent(TypedDict):
    type: Literal["text"]
    text: str


class TextContent(_TextContent, total=False):
    annotations: Annotations


class _MediaContent(TypedDict):
    data: str
    mimeType: str


class ImageContent(_MediaContent, total=False):
    type: Literal["image"]
    annotations: Annotations


class AudioContent(_MediaContent, total=False):
    type: Literal["audio"]
    annotations: Annotations


class _ResourceContents(TypedDict):
    uri: str


class ResourceContents(_ResourceContents, total=False):
    """Has `text`, or `blob` with base64."""

    mimeType: str
    text: str
    blob: str


class EmbeddedResource(TypedDict):
    type: Literal["resource"]
    resource: ResourceContents


class _Named(TypedDict):
    name: str


class _Described(_Named, total=False):
    title: str
    description: str
    icons: list[Icon]


class Resource(_Described, total=False):
    uri: str
    mimeType: str
    size: int
    annotations: Annotations


class ResourceLink(Resource, total=False):
    type: Literal["resource_link"]


class ResourceTemplate(_Described, total=False):
    uriTemplate: str
    mimeType: str
    annotations: Annotations


ContentBlock = Union[TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource]


class ToolAnnotations(TypedDict, total=False):
    title: str
    readOnlyHint: bool
    destructiveHint: bool
    idempotentHint: bool
    openWorldHint: bool


class Tool(_Described, total=False):
    inputSchema: JsonSchema
    outputSchema: JsonSchema
    annotations: ToolAnnotations


class PromptArgument(_Named, total=False):
    title: str
    description: str
    required: bool


class Prompt(_Described, total=False):
    arguments: list[PromptArgument]


class PromptMessage(TypedDict):
    role: Role
    content: ContentBlock


class _PromptResult(TypedDict):
    messages: list[PromptMessage]


class PromptResult(_PromptResult, total=False):
    description: str


class _CompletionValues(TypedDict):
    values: list[str]


class CompletionValues(_CompletionValues, total=False):
    total: int
    hasMore: bool


class _Root(TypedDict):
    uri: str


class Root(_Root, total=False):
    name: str


class SamplingResult(TypedDict, total=False):
    role: Role
    content: Any
    model: str
    stopReason: str


class CallInfo(TypedDict, total=False):
    """What is known about a running call."""

    client: Implementation | None
    capabilities: dict[str, Any]
    revision: str
    meta: dict[str, Any] | None
    progress: bool
    logLevel: str | None
    stream: int


class Block(dict[str, Any]):
    """A content block: what a handler returns to be sent as it is."""


def _base64(data: bytes) -> str:
    from base64 import b64encode

    return b64encode(data).decode("ascii")


class Text(Block):
    """A text block."""

    def __init__(self, text: str, **more: Any) -> None:
        super().__init__(type="text", text=text, **more)


class Image(Block):
    """An image block from the bytes of an image file."""

    def __init__(self, data: bytes, mime_type: str = "image/png", **more: Any) -> None:
        super().__init__(type="image", data=_base64(data), mimeType=mime_type, **more)


class Audio(Block):
    """An audio block from the bytes of a sound file."""

    def __init__(self, data: bytes, mime_type: str = "audio/wav", **more: Any) -> None:
        super().__init__(type="audio", data=_base64(data), mimeType=mime_type, **more)


class Link(Block):
    """A link to a resource that the client may read."""

    def __init__(self, uri: str, name: str, **more: Any) -> None:
        super().__init__(type="resource_link", uri=uri, name=name, **more)


class Embedded(Block):
    """The contents of a resource inside a result."""

    def __init__(self, uri: str, content: str | bytes, mime_type: str | None = None) -> None:
        super().__init__(type="resource", resource=contents(uri, content, mime_type))


class ToolResult:
    """A whole tool result, for handlers that set each part themselves."""

    def __init__(
        self,
        content: Iterable[Block | dict[str, Any] | str] = (),
        *,
        structured: Any = None,
        is_error: bool = False,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.content = [Text(item) if isinstance(item, str) else item for item in content]
        self.structured = structured
        self.is_error = is_error
        self.meta = meta


def contents(uri: str, content: str | bytes, mime_type: str | None = None) -> dict[str, Any]:
    """Resource contents of text or bytes."""
    made: dict[str, Any] = {"uri": uri}
    if mime_type is not None:
        made["mimeType"] = mime_type
    if isinstance(content, str):
        made["text"] = content
    else:
        made["blob"] = _base64(content)
    return made
