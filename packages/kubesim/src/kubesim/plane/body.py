"""Request bodies: from bytes in one of the accepted formats to plain JSON values.

    application/json                        json_text    the rule; an empty content type means the same
    application/yaml                        yaml_text    and server-side apply, which is YAML by name
    application/vnd.kubernetes.protobuf     protobuf     what client-go sends of built-in kinds, kubectl at times

A body that cannot be read becomes a 400 with the real server's words, an unknown format a 415.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError, bad_request, unsupported_media_type
from kubesim.plane.json_text import MalformedBodyError, decode_json, duplicate_json_keys
from kubesim.plane.patch.golang import json_name
from kubesim.plane.protobuf import decode_protobuf
from kubesim.plane.yaml_text import decode_yaml, duplicate_yaml_keys

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
SUPPORTED = (JSON, YAML, PROTOBUF)

_SHOWN_BYTES = 30
_NO_TYPE = "couldn't get version/kind; json parse error: "
_TYPE_META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def media_type(content_type: str) -> str:
    """Return the bare media type in lower case; nothing counts as JSON."""
    return content_type.partition(";")[0].strip().lower() or JSON


def decode_body(content_type: str, body: bytes, kind: str = "", api_version: str = "") -> JsonObject:
    """Decode an object. `kind` is what the resource expects; the server names it when it cannot read the body.

    Emptiness in the form of null is an empty object: the complaint about what it lacks comes from validation.
    """
    decode = _reader(content_type, kind, api_version)
    try:
        tree = decode(body)
    except MalformedBodyError as problem:
        raise unrecognized(kind, str(problem), body) from problem
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise unrecognized(kind, _mistyped(tree, f"Go value of type {_TYPE_META}"), body)
    for field in ("apiVersion", "kind"):
        if not isinstance(tree.get(field, ""), str | None):
            raise unrecognized(kind, _mistyped(tree[field], f"Go struct field .{field} of type string"), body)
    return tree


def _mistyped(value: Any, target: str) -> str:
    return f"{_NO_TYPE}json: cannot unmarshal {json_name(value)} into {target}"


def _json_object(body: bytes) -> Any:
    try:
        return decode_json(body)
    except MalformedBodyError as problem:
        raise MalformedBodyError(f"{_NO_TYPE}{problem}") from problem


_READERS: dict[str, Callable[[bytes], Any]] = {JSON: _json_object, YAML: decode_yaml}


def _reader(content_type: str, kind: str, api_version: str) -> Callable[[bytes], Any]:
    name = media_type(content_type)
    if name == PROTOBUF:
        return lambda body: decode_protobuf(body, api_version, kind)
    if name not in _READERS:
        raise unsupported_media_type(SUPPORTED)
    return _READERS[name]


def unrecognized(kind: str, problem: str, body: bytes) -> StatusError:
    """The refusal of a body that does not even tell its kind, with its first bytes."""
    if not kind:
        return bad_request(problem)
    expected = f"the object provided is unrecognized (must be of type {kind})"
    return bad_request(f"{expected}: {problem} ({_summary(body)})")


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    start = body[:_SHOWN_BYTES]
    shown = start.decode(errors="replace") if body.startswith(b"{") else start.hex()
    return f"{shown} ..." if len(body) > _SHOWN_BYTES else shown


def duplicate_keys(content_type: str, body: bytes) -> list[str]:
    """Return what strict field validation has to say about repeated keys. The body must have been decoded before."""
    kind = media_type(content_type)
    if kind == PROTOBUF:
        return []
    if kind.endswith("yaml"):
        return duplicate_yaml_keys(body)
    return duplicate_json_keys(body)


def decode_patch_body(content_type: str, body: bytes) -> Any:
    """Decode a patch. Its shape is for the kind of patch to judge; only applied configurations must be objects."""
    patch_type = media_type(content_type)
    if patch_type.endswith("yaml"):
        return _decode_configuration(body)
    try:
        return decode_json(body)
    except MalformedBodyError as problem:
        strategic = patch_type == "application/strategic-merge-patch+json"
        raise bad_request(str(problem) if strategic else f"error decoding patch: {problem}") from problem


def _decode_configuration(body: bytes) -> JsonObject:
    try:
        tree = decode_yaml(body)
    except MalformedBodyError as problem:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {problem}") from problem
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        mistyped = f"cannot unmarshal {json_name(tree)} into Go value of type map[string]interface {{}}"
        raise bad_request(
            f"error decoding YAML: error unmarshaling JSON: while decoding JSON: json: {mistyped}"
        )
    return tree
