"""A result as a successful answer: status, headers and body, as the operation's model describes them.

Writers are compiled from shapes. An XML writer appends pieces of text; a JSON writer makes a document with the names
of the wire. Lists without elements are left out unless the model requires them, which is what callers have to expect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec
from botocore.model import ListShape, MapShape, Shape, StructureShape

from kubesim.aws.request import Answer
from kubesim.aws.wire.models import NAMESPACES, OperationShape
from kubesim.aws.wire.xml import escape

Result = Mapping[str, Any]
XmlWriter = Callable[[Any, list[str]], None]
JsonWriter = Callable[[Any], Any]

CONTENT_TYPES = {
    "rest-xml": "text/xml",
    "query": "text/xml",
    "json": "application/x-amz-json-1.1",
    "rest-json": "application/json",
}
DECLARATION = '<?xml version="1.0"?>\n'


def answer(operation: OperationShape, result: Result, request_id: str) -> Answer:
    """A result on its way out."""
    shape = operation.output
    headers = {"x-amzn-requestid": request_id}
    body = b""
    if shape is not None:
        headers |= _headers(shape, result)
        body = _BODIES[operation.protocol](operation, shape, result, request_id)
    elif operation.protocol == "json":
        body = b"{}"
    if body:
        headers["content-type"] = CONTENT_TYPES[operation.protocol]
    return Answer(operation.success, headers, body)


def _headers(shape: StructureShape, result: Result) -> dict[str, str]:
    return {
        member.serialization["name"].lower(): str(result[name])
        for name, member in shape.members.items()
        if member.serialization.get("location") == "header" and result.get(name) is not None
    }


def _xml_body(operation: OperationShape, shape: StructureShape, result: Result, _request_id: str) -> bytes:
    payload = shape.serialization.get("payload")
    content: Shape = shape.members[payload] if payload else shape
    value = result.get(payload) if payload else result
    if value is None or not (isinstance(content, StructureShape) and content.members):
        return b""
    root = content.name
    out = [DECLARATION, f'<{root} xmlns="{NAMESPACES[operation.service]}">']
    _xml(content)(value, out)
    out.append(f"</{root}>")
    return "".join(out).encode()


def _query_body(operation: OperationShape, shape: StructureShape, result: Result, request_id: str) -> bytes:
    name, wrapper = operation.name, shape.serialization["resultWrapper"]
    out = [f'<{name}Response xmlns="{NAMESPACES[operation.service]}"><{wrapper}>']
    _xml(shape)(result, out)
    out.append(f"</{wrapper}><ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata>")
    out.append(f"</{name}Response>")
    return "".join(out).encode()


def _json_body(_operation: OperationShape, shape: StructureShape, result: Result, _request_id: str) -> bytes:
    return msgspec.json.encode(_json(shape)(result))


_BODIES: Mapping[str, Callable[[OperationShape, StructureShape, Result, str], bytes]] = {
    "rest-xml": _xml_body,
    "query": _query_body,
    "json": _json_body,
    "rest-json": _json_body,
}


# --- XML ------------------------------------------------------------------------------------------------------------


def iso_timestamp(moment: datetime) -> str:
    """With milliseconds, as CloudFront and Route 53 write it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _text_of(shape: Shape) -> Callable[[Any], str]:
    match shape.type_name:
        case "boolean":
            return lambda value: "true" if value else "false"
        case "timestamp":
            return iso_timestamp
        case "string":
            return escape
        case _:
            return str


@cache
def _xml(shape: Shape) -> XmlWriter:
    """A writer of what stands between an element's tags."""
    if isinstance(shape, StructureShape):
        return _xml_structure(shape)
    if isinstance(shape, ListShape):
        return _xml_list(shape)
    text_of = _text_of(shape)
    return lambda value, out: out.append(text_of(value))


def _xml_list(shape: ListShape) -> XmlWriter:
    member = shape.member
    tag = member.serialization.get("name", "member")
    before, after = f"<{tag}>", f"</{tag}>"

    def write(values: Any, out: list[str]) -> None:
        write_one = _xml(member)
        for value in values:
            out.append(before)
            write_one(value, out)
            out.append(after)

    return write


def _xml_structure(shape: StructureShape) -> XmlWriter:
    required = set(shape.required_members)
    members = [
        (name, _xml_member(member, member.serialization.get("name", name)), name in required)
        for name, member in shape.members.items()
        if "location" not in member.serialization
    ]

    def write(value: Any, out: list[str]) -> None:
        for name, write_member, is_required in members:
            item = value.get(name)
            if item is None or (item == [] and not is_required):
                continue
            write_member(item, out)

    return write


def _xml_member(shape: Shape, tag: str) -> XmlWriter:
    """A writer of one member with its tags; members are compiled when first written, since models are recursive."""
    before, after = f"<{tag}>", f"</{tag}>"
    if not isinstance(shape, StructureShape | ListShape):
        text_of = _text_of(shape)
        return lambda value, out: out.append(f"{before}{text_of(value)}{after}")

    def write(value: Any, out: list[str]) -> None:
        out.append(before)
        _xml(shape)(value, out)
        out.append(after)

    return write


# --- JSON -----------------------------------------------------------------------------------------------------------


@cache
def _json(shape: Shape) -> JsonWriter:
    if isinstance(shape, StructureShape):
        members = [
            (name, member.serialization.get("name", name), member)
            for name, member in shape.members.items()
            if "location" not in member.serialization
        ]
        return lambda value: {
            wire: _json(member)(value[name]) for name, wire, member in members if value.get(name) is not None
        }
    if isinstance(shape, ListShape):
        element = shape.member
        return lambda value: [_json(element)(item) for item in value]
    if isinstance(shape, MapShape):
        inner = shape.value
        return lambda value: {key: _json(inner)(item) for key, item in value.items()}
    if shape.type_name == "timestamp":
        iso = shape.serialization.get("timestampFormat") == "iso8601"
        return iso_timestamp if iso else lambda moment: round(moment.timestamp(), 3)
    return lambda value: value
