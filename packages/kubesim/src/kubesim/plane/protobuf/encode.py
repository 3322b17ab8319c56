"""From the JSON of an object to the bytes of its protobuf body.

Objects come from the store, so they are of the types that their kind has. Fields are written in the order of their
numbers and maps in the order of their keys, as Go writes them. What JSON leaves out is left out here too: readers take
a missing field for zero, as they take one that holds zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.plane.protobuf.special import LEAVES, UNIONS, delimited
from kubesim.plane.protobuf.tables import MAGIC, Field, message_fields, message_of
from kubesim.plane.wire import VARINT, varint

_FIRST, _SECOND = b"\x0a", b"\x12"
_NO_ENCODING = b"\x1a\x00\x22\x00"
"""Content encoding and content type of the message, which Kubernetes leaves empty."""
_FRAME_LENGTH = 4


def encode_protobuf(tree: JsonObject) -> bytes:
    """Encode an object or a list of them; its kind must be one that has a protobuf form."""
    api_version, kind = tree.get("apiVersion", ""), tree.get("kind", "")
    message = message_of(api_version, kind)
    if message is None:
        raise ValueError(f"{kind} in {api_version} has no protobuf form")
    type_meta = delimited(_FIRST, api_version.encode()) + delimited(_SECOND, kind.encode())
    content = delimited(_SECOND, _message(message, tree))
    return MAGIC + delimited(_FIRST, type_meta) + content + _NO_ENCODING


def encode_watch_event(event_type: bytes, encoded: bytes) -> bytes:
    """Frame an event for a stream: the length of the event in four bytes, its type, and the encoded object."""
    event = delimited(_FIRST, event_type) + delimited(_SECOND, delimited(_FIRST, encoded))
    return len(event).to_bytes(_FRAME_LENGTH, "big") + event


def _message(name: str, content: JsonObject) -> bytes:
    pieces: list[bytes] = []
    for field in message_fields(name).values():
        if field.inline:
            pieces.append(delimited(field.tag, _message(field.type, content)))
        elif (value := content.get(field.name)) is not None:
            pieces.extend(_field(field, value))
    return b"".join(pieces)


def _field(field: Field, value: Any) -> Iterator[bytes]:
    """Yield what one field adds to its message: an item or an entry at a time where it has many."""
    if field.repeated:
        for item in value:
            yield _tagged(field, item)
    elif field.mapped:
        for key in sorted(value):
            entry = delimited(_FIRST, key.encode()) + delimited(_SECOND, _value(field.type, value[key]))
            yield delimited(field.tag, entry)
    else:
        yield _tagged(field, value)


def _tagged(field: Field, value: Any) -> bytes:
    if field.wire_type == VARINT:
        return field.tag + varint(value)
    encoded = _value(field.type, value)
    return field.tag + encoded if field.type == "double" else delimited(field.tag, encoded)


def _value(name: str, value: Any) -> bytes:
    """Encode one value of the named type, without its tag. Null, in a list or a map, is the type's zero."""
    if value is None:
        return b""
    leaf = LEAVES.get(name)
    if leaf is not None:
        return leaf.encode(value)
    union = UNIONS.get(name)
    return _message(name, value if union is None else union.to_fields(value))
