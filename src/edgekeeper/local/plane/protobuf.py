"""Kubernetes' protobuf bodies, decoded into the JSON that the same object would have.

kubectl's imperative commands (`create namespace`, `run`, `expose`, …) send protobuf to every server that speaks of
built-in kinds. Such a body is the magic `k8s\\0`, an envelope that names apiVersion and kind, and the message itself.
The field numbers come from `data/protobuf.json`, which `tools/protobuf_tables.py` extracts from the published modules.

Zero values need care: Go writes every field that is not a pointer, set or not. The table marks those whose zero JSON
would show; all other zeros are left out, as `omitempty` would. Answers are always JSON, so nothing is encoded here.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject
from edgekeeper.local.plane.errors import bad_request
from edgekeeper.local.plane.json_text import MalformedBodyError, decode_json
from edgekeeper.local.plane.wire import LENGTH, VARINT, fields, packed_varints, signed

_MAGIC = b"k8s\x00"
_MOST_NESTED = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OPTIONS_KIND = "DeleteOptions"


def decode_protobuf(body: bytes) -> JsonObject:
    """Decode a body, or raise `MalformedBodyError` (no envelope) or a 400 (no such kind, or a broken message)."""
    if not body:
        raise MalformedBodyError("empty data")
    if not body.startswith(_MAGIC):
        expected = " ".join(str(byte) for byte in _MAGIC)
        raise MalformedBodyError(
            f"provided data does not appear to be a protobuf message, expected prefix [{expected}]"
        )
    if len(body) == len(_MAGIC):
        raise MalformedBodyError("empty body")
    api_version, kind, raw = _opened(body[len(_MAGIC) :])
    message = _message_of(api_version, kind)
    try:
        content = message.decode(raw, 0)
    except MalformedBodyError as problem:
        version = api_version.rpartition("/")[2]
        raise bad_request(
            f'{kind} in version "{version}" cannot be handled as a {kind}: {problem}'
        ) from problem
    return {"kind": kind, "apiVersion": api_version, **content}


def _opened(envelope: bytes) -> tuple[str, str, bytes]:
    """Return apiVersion, kind and the message from the `Unknown` envelope."""
    parts = _length_delimited(envelope)
    type_meta = _length_delimited(parts.get(1, b""))
    return _text(type_meta.get(1, b"")), _text(type_meta.get(2, b"")), parts.get(2, b"")


def _length_delimited(data: bytes) -> dict[int, bytes]:
    return {number: value for number, _, value in fields(data) if isinstance(value, bytes)}


def _message_of(api_version: str, kind: str) -> _Message:
    # Options travel under the version of whatever they are meant for.
    lookup = f"v1 {kind}" if kind == _OPTIONS_KIND else f"{api_version} {kind}"
    name = _tables().kinds.get(lookup)
    if name is None:
        raise bad_request(
            f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
        )
    return _message(name)


@dataclass(frozen=True, slots=True)
class _Tables:
    kinds: Mapping[str, str]
    messages: Mapping[str, Mapping[str, list[str]]]


@cache
def _tables() -> _Tables:
    path = files("edgekeeper.local.plane") / "data" / "protobuf.json"
    return msgspec.json.decode(path.read_bytes(), type=_Tables)


@dataclass(frozen=True, slots=True)
class _Field:
    """How one field is read: its JSON name, how one value is decoded, and how values add up."""

    name: str
    type: str
    wire_type: int
    repeated: bool = False
    mapped: bool = False
    inline: bool = False
    keeps_zero: bool = False

    @classmethod
    def parse(cls, name: str, declared: str, flag: str = "") -> _Field:
        value_type = declared.removeprefix("[]").removeprefix("{}")
        return cls(
            name=name,
            type=value_type,
            wire_type=LENGTH if declared.startswith("{}") or value_type not in ("bool", "int") else VARINT,
            repeated=declared.startswith("[]"),
            mapped=declared.startswith("{}"),
            inline=flag == "inline",
            keeps_zero=flag == "zero",
        )


@dataclass(frozen=True, slots=True)
class _Message:
    """A message type, ready to decode."""

    fields: Mapping[int, _Field]

    def decode(self, data: bytes, depth: int) -> JsonObject:
        if depth > _MOST_NESTED:
            raise MalformedBodyError("exceeded max depth")
        content: JsonObject = {}
        for number, wire_type, value in fields(data):
            field = self.fields.get(number)
            if field is not None:
                _store(content, field, wire_type, value, depth)
        return content


@cache
def _message(name: str) -> _Message:
    declared = _tables().messages[name]
    return _Message({int(number): _Field.parse(*field) for number, field in declared.items()})


def _store(content: JsonObject, field: _Field, wire_type: int, value: int | bytes, depth: int) -> None:
    if field.repeated:
        content.setdefault(field.name, []).extend(_items(field, wire_type, value, depth))
        return
    if wire_type != field.wire_type:
        raise MalformedBodyError(f"proto: wrong wireType = {wire_type} for field {field.name}")
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


def _items(field: _Field, wire_type: int, value: int | bytes, depth: int) -> Iterator[Any]:
    """Yield what one occurrence adds to a list: an item, or many numbers packed together."""
    if wire_type == field.wire_type:
        yield _value(field.type, value, depth)
    elif isinstance(value, bytes):
        for number in packed_varints(value):
            yield _value(field.type, number, depth)
    else:
        raise MalformedBodyError(f"proto: wrong wireType = {wire_type} for field {field.name}")


def _entry(field: _Field, value: int | bytes, depth: int) -> tuple[str, Any]:
    """Decode an entry of a map: a message with the key as field 1 and the value as field 2."""
    parts = _length_delimited(value) if isinstance(value, bytes) else {}
    return _text(parts.get(1, b"")), _value(field.type, parts.get(2, b""), depth)


def _value(name: str, value: int | bytes, depth: int) -> Any:
    """Decode one value of the named type; its wire type has been checked."""
    if isinstance(value, int):
        return bool(value) if name == "bool" else signed(value)
    special = _SPECIAL.get(name)
    return special(value) if special else _message(name).decode(value, depth + 1)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _quantity(data: bytes) -> str:
    return _text(_length_delimited(data).get(1, b"")) or "0"


def _int_or_string(data: bytes) -> int | str:
    is_string, number, text = 0, 0, ""
    for position, _, value in fields(data):
        if isinstance(value, bytes):
            text = _text(value)
        elif position == 1:
            is_string = value
        else:
            number = signed(value)
    return text if is_string else number


def _time(data: bytes) -> str | None:
    return _moment(data, "seconds")


def _micro_time(data: bytes) -> str | None:
    return _moment(data, "microseconds")


def _moment(data: bytes, precision: str) -> str | None:
    """Decode seconds and nanoseconds since 1970. The time that was never set has no content at all."""
    if not data:
        return None
    numbers = {number: signed(value) for number, _, value in fields(data) if isinstance(value, int)}
    try:
        moment = _EPOCH + timedelta(seconds=numbers.get(1, 0), microseconds=numbers.get(2, 0) // 1000)
    except OverflowError:
        raise MalformedBodyError("time is out of range") from None
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def _embedded_json(data: bytes) -> Any:
    """Decode bytes that hold JSON themselves."""
    raw = _length_delimited(data).get(1, b"")
    return decode_json(raw) if raw else None


def _string_list(data: bytes) -> list[str]:
    return [_text(value) for number, _, value in fields(data) if number == 1 and isinstance(value, bytes)]


_META = "apimachinery.pkg.apis.meta.v1"
_SPECIAL: Mapping[str, Callable[[bytes], Any]] = {
    "string": _text,
    "bytes": _base64,
    "apimachinery.pkg.api.resource.Quantity": _quantity,
    "apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "apimachinery.pkg.runtime.RawExtension": _embedded_json,
    f"{_META}.FieldsV1": _embedded_json,
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
    "api.authentication.v1.ExtraValue": _string_list,
    "api.authorization.v1.ExtraValue": _string_list,
}
"""What is not a JSON object: scalars, and messages that JSON writes in a form of their own."""
