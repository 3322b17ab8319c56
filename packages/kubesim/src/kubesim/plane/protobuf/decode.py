"""From the bytes of a protobuf body to the JSON that the same object would have.

Zero values need care: Go writes every field that is not a pointer, set or not. The table marks those whose zero JSON
would show; all other zeros are left out, as `omitempty` would.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import cannot_be_handled, not_registered
from kubesim.plane.json_text import MalformedBodyError
from kubesim.plane.protobuf.special import LEAVES, UNIONS, decode_text, length_delimited
from kubesim.plane.protobuf.tables import MAGIC, Field, message_fields, message_of
from kubesim.plane.wire import LENGTH, VARINT, fields, packed_varints, signed

_MOST_NESTED = 100


def decode_protobuf(body: bytes, expected_version: str = "", expected_kind: str = "") -> JsonObject:
    """Decode a body, or raise `MalformedBodyError` (no envelope) or a 400 (no such kind, or a broken message).

    An envelope that leaves its version or kind unsaid holds what is expected.
    """
    if not body:
        raise MalformedBodyError("empty data")
    if not body.startswith(MAGIC):
        expected = " ".join(str(byte) for byte in MAGIC)
        raise MalformedBodyError(
            f"provided data does not appear to be a protobuf message, expected prefix [{expected}]"
        )
    if len(body) == len(MAGIC):
        raise MalformedBodyError("empty body")
    named_version, named_kind, raw = _opened(body[len(MAGIC) :])
    api_version, kind = named_version or expected_version, named_kind or expected_kind
    message = message_of(api_version, kind)
    if message is None:
        problem = not_registered(api_version, kind)
        raise cannot_be_handled(api_version, kind, expected_kind or kind, problem)
    try:
        content = _message(message, raw, 0)
    except MalformedBodyError as problem:
        raise cannot_be_handled(api_version, kind, expected_kind or kind, str(problem)) from problem
    return {"kind": kind, "apiVersion": api_version, **content}


def _opened(envelope: bytes) -> tuple[str, str, bytes]:
    """Return apiVersion, kind and the message from the `Unknown` envelope."""
    parts = length_delimited(envelope)
    type_meta = length_delimited(parts.get(1, b""))
    return decode_text(type_meta.get(1, b"")), decode_text(type_meta.get(2, b"")), parts.get(2, b"")


def _message(name: str, data: bytes, depth: int) -> JsonObject:
    if depth > _MOST_NESTED:
        raise MalformedBodyError("exceeded max depth")
    known = message_fields(name)
    content: JsonObject = {}
    for number, wire_type, value in fields(data):
        field = known.get(number)
        if field is not None:
            _store(content, field, wire_type, value, depth)
    return content


def _store(content: JsonObject, field: Field, wire_type: int, value: int | bytes, depth: int) -> None:
    if field.repeated:
        content.setdefault(field.name, []).extend(_items(field, wire_type, value, depth))
        return
    if wire_type != field.wire_type:
        raise _wrong_wire_type(field, wire_type)
    if field.mapped:
        key, item = _entry(field, value, depth)
        content.setdefault(field.name, {})[key] = item
        return
    decoded = _value(field.type, value, depth)
    if field.inline:
        content.update(decoded)
    elif decoded is None or (not decoded and not field.keeps_zero and not isinstance(decoded, dict)):
        content.pop(field.name, None)
    else:
        content[field.name] = decoded


def _items(field: Field, wire_type: int, value: int | bytes, depth: int) -> Iterator[Any]:
    """Yield what one occurrence adds to a list: an item, or many numbers packed together."""
    if wire_type == field.wire_type:
        yield _value(field.type, value, depth)
    elif field.wire_type == VARINT and wire_type == LENGTH and isinstance(value, bytes):
        for number in packed_varints(value):
            yield _value(field.type, number, depth)
    else:
        raise _wrong_wire_type(field, wire_type)


def _wrong_wire_type(field: Field, wire_type: int) -> MalformedBodyError:
    return MalformedBodyError(f"proto: wrong wireType = {wire_type} for field {field.name}")


def _entry(field: Field, value: int | bytes, depth: int) -> tuple[str, Any]:
    """Decode an entry of a map: a message with the key as field 1 and the value as field 2."""
    parts = length_delimited(value) if isinstance(value, bytes) else {}
    return decode_text(parts.get(1, b"")), _value(field.type, parts.get(2, b""), depth)


def _value(name: str, value: int | bytes, depth: int) -> Any:
    """Decode one value of the named type; its wire type has been checked."""
    if isinstance(value, int):
        return bool(value) if name == "bool" else signed(value)
    leaf = LEAVES.get(name)
    if leaf is not None:
        return leaf.decode(value)
    content = _message(name, value, depth + 1)
    union = UNIONS.get(name)
    return content if union is None else union.from_fields(content)
