"""A request's parameters, by the names that the service model gives them.

Readers are compiled from shapes: one for XML elements, one for JSON documents, and one for the flat keys of the query
protocol, which are folded into a tree first. What the model does not know is ignored, as the services ignore it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, cast
from urllib.parse import parse_qsl

import msgspec
from botocore.model import ListShape, MapShape, Shape, StructureShape

from kubesim.aws.request import Request
from kubesim.aws.wire import xml
from kubesim.aws.wire.models import OperationShape

Params = dict[str, Any]
Reader = Callable[[Any], Any]


class MalformedRequestError(ValueError):
    """The body cannot be read at all."""


def parameters(operation: OperationShape, request: Request, labels: Mapping[str, str]) -> Params:
    """Everything that a request says. `labels` are the parts of its path."""
    shape = operation.input
    if shape is None:
        return {}
    try:
        params = _body(operation, shape, request.body)
    except (ValueError, TypeError, AttributeError) as error:
        raise MalformedRequestError(str(error)) from error
    for name, member in shape.members.items():
        value = _elsewhere(member, request, labels)
        if value is not None:
            params[name] = value
    return params


def _elsewhere(member: Shape, request: Request, labels: Mapping[str, str]) -> Any:
    """The value of a member that is not in the body."""
    location = member.serialization.get("location")
    if location is None:
        return None
    name = member.serialization["name"]
    if location == "uri":
        return _scalar(member)(labels[name])
    if location == "header":
        text = request.headers.get(name.lower())
        return None if text is None else _scalar(member)(text)
    values = request.query.get(name)
    if values is None:
        return None
    return values if member.type_name == "list" else _scalar(member)(values[0])


def _body(operation: OperationShape, shape: StructureShape, body: bytes) -> Params:
    if not body:
        return {}
    payload = shape.serialization.get("payload")
    content: Shape = shape.members[payload] if payload else shape
    value = _from_text(operation.protocol, content, body)
    return {payload: value} if payload else cast("Params", value)


def _from_text(protocol: str, shape: Shape, body: bytes) -> Any:
    match protocol:
        case "rest-xml":
            return _xml(shape)(xml.parse(body))
        case "query":
            return _tree(shape)(_folded(body))
        case _:
            return _json(shape)(msgspec.json.decode(body))


# --- Scalars --------------------------------------------------------------------------------------------------------


def _timestamp(value: str | float) -> datetime:
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    return datetime.fromisoformat(value)


_SCALARS: Mapping[str, Reader] = {
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "boolean": lambda text: text in (True, "true", "True", "1"),
    "timestamp": _timestamp,
}


def _scalar(shape: Shape) -> Reader:
    return _SCALARS.get(shape.type_name, str)


def _in_body(shape: StructureShape) -> dict[str, Shape]:
    return {name: member for name, member in shape.members.items() if "location" not in member.serialization}


# --- XML ------------------------------------------------------------------------------------------------------------


@cache
def _xml(shape: Shape) -> Reader:
    """Shapes of one model may refer to themselves, so members are compiled when they are first met."""
    if isinstance(shape, StructureShape):
        return _xml_structure(shape)
    if isinstance(shape, ListShape):
        member = shape.member
        return lambda element: [_xml(member)(child) for child in element.children]
    read = _scalar(shape)
    return lambda element: read(element.text)


def _xml_structure(shape: StructureShape) -> Reader:
    members = {
        member.serialization.get("name", name): (name, member) for name, member in _in_body(shape).items()
    }

    def read(element: xml.Element) -> Params:
        result: Params = {}
        for child in element.children:
            known = members.get(child.name)
            if known is None:
                continue
            name, member = known
            result[name] = _xml(member)(child)
        return result

    return read


# --- JSON -----------------------------------------------------------------------------------------------------------


@cache
def _json(shape: Shape) -> Reader:
    if isinstance(shape, StructureShape):
        members = {
            member.serialization.get("name", name): (name, member) for name, member in _in_body(shape).items()
        }
        return lambda value: {
            members[key][0]: _json(members[key][1])(item)
            for key, item in value.items()
            if key in members and item is not None
        }
    if isinstance(shape, ListShape):
        element = shape.member
        return lambda value: [_json(element)(item) for item in value]
    if isinstance(shape, MapShape):
        inner = shape.value
        return lambda value: {key: _json(inner)(item) for key, item in value.items()}
    return _scalar(shape)


# --- Query ----------------------------------------------------------------------------------------------------------


def _folded(body: bytes) -> dict[str, Any]:
    """`Tags.member.1.Key=team` as {"Tags": {"member": {"1": {"Key": "team"}}}}."""
    tree: dict[str, Any] = {}
    for key, value in parse_qsl(body.decode(), keep_blank_values=True):
        *parents, leaf = key.split(".")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[leaf] = value
    return tree


@cache
def _tree(shape: Shape) -> Reader:
    if isinstance(shape, StructureShape):
        members = shape.members
        return lambda node: {
            name: _tree(member)(node[name]) for name, member in members.items() if name in node
        }
    if isinstance(shape, ListShape):
        element = shape.member
        wrapper = element.serialization.get("name", "member")
        return lambda node: [
            _tree(element)(node[wrapper][number]) for number in sorted(node[wrapper], key=int)
        ]
    return _scalar(shape)
