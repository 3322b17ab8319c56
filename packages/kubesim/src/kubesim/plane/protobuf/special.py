"""Values that JSON does not write as objects, each in both directions.

`LEAVES` are scalars and messages with a text form of their own. `UNIONS` are messages of which JSON shows only the
member that is set: they are read and written like any other message, and `Union` says what JSON makes of the fields.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject
from kubesim.plane.json_text import MalformedBodyError, decode_json
from kubesim.plane.wire import LENGTH, VARINT, fields, signed, varint

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_INTEGER = 1e21
"""From here on Go writes floating-point numbers with an exponent, whole or not."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """How a value without JSON fields of its own is read from its bytes and written to them."""

    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]


@dataclass(frozen=True, slots=True)
class Union:
    """What JSON shows of a message, and which fields the message needs to show that."""

    from_fields: Callable[[JsonObject], Any]
    to_fields: Callable[[Any], JsonObject]


def length_delimited(data: bytes) -> dict[int, bytes]:
    """Return the last value of each field that holds bytes."""
    return {
        number: value
        for number, wire_type, value in fields(data)
        if wire_type == LENGTH and isinstance(value, bytes)
    }


def delimited(tag: bytes, data: bytes) -> bytes:
    """A field that holds bytes: its tag, their length, and them."""
    return tag + varint(len(data)) + data


def decode_text(data: bytes) -> str:
    return data.decode(errors="replace")


def _encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decode_double(data: bytes) -> int | float:
    """Read a floating-point number as JSON shows it: whole ones without a fraction."""
    (number,) = struct.unpack("<d", data)
    if not math.isfinite(number):
        raise MalformedBodyError(f"json: unsupported value: {number}")
    return int(number) if number.is_integer() and abs(number) < _LONGEST_INTEGER else number


def _encode_double(number: float) -> bytes:
    return struct.pack("<d", number)


_FIRST = varint(1 << 3 | LENGTH)


def _decode_quantity(data: bytes) -> str:
    return decode_text(length_delimited(data).get(1, b"")) or "0"


def _encode_quantity(value: Any) -> bytes:
    return delimited(_FIRST, str(value).encode())


def _decode_int_or_string(data: bytes) -> int | str:
    is_string, number, text = 0, 0, ""
    for position, wire_type, value in fields(data):
        if isinstance(value, bytes):
            text = decode_text(value) if wire_type == LENGTH else text
        elif position == 1:
            is_string = value
        else:
            number = signed(value)
    return text if is_string else number


def _encode_int_or_string(value: int | str) -> bytes:
    is_string, number, text = (1, 0, value) if isinstance(value, str) else (0, value, "")
    return b"\x08" + varint(is_string) + b"\x10" + varint(number) + delimited(b"\x1a", text.encode())


def _decode_time(data: bytes) -> str | None:
    return _decode_moment(data, "seconds")


def _decode_micro_time(data: bytes) -> str | None:
    return _decode_moment(data, "microseconds")


def _decode_moment(data: bytes, precision: str) -> str | None:
    """Decode seconds and nanoseconds since 1970. The time that was never set has no content at all."""
    if not data:
        return None
    numbers = {
        number: signed(value)
        for number, wire_type, value in fields(data)
        if wire_type == VARINT and isinstance(value, int)
    }
    try:
        moment = _EPOCH + timedelta(seconds=numbers.get(1, 0), microseconds=numbers.get(2, 0) // 1000)
    except OverflowError:
        raise MalformedBodyError("time is out of range") from None
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def _encode_time(value: str) -> bytes:
    return _encode_moment(value, with_fraction=False)


def _encode_micro_time(value: str) -> bytes:
    return _encode_moment(value, with_fraction=True)


def _encode_moment(value: str, *, with_fraction: bool) -> bytes:
    since = datetime.fromisoformat(value) - _EPOCH
    nanoseconds = since.microseconds * 1000 if with_fraction else 0
    return b"\x08" + varint(since.days * 86_400 + since.seconds) + b"\x10" + varint(nanoseconds)


def _decode_json(data: bytes) -> Any:
    """Decode a message whose first field holds JSON itself."""
    raw = length_delimited(data).get(1, b"")
    return decode_json(raw) if raw else None


def _encode_json(value: Any) -> bytes:
    return delimited(_FIRST, msgspec.json.encode(value))


def _decode_texts(data: bytes) -> list[str]:
    return [
        decode_text(value) for number, _, value in fields(data) if number == 1 and isinstance(value, bytes)
    ]


def _encode_texts(values: list[str]) -> bytes:
    return b"".join(delimited(_FIRST, value.encode()) for value in values)


_META = "apimachinery.pkg.apis.meta.v1"
_EXTENSIONS = "apiextensions_apiserver.pkg.apis.apiextensions.v1"
_JSON = Leaf(_decode_json, _encode_json)
_TEXTS = Leaf(_decode_texts, _encode_texts)

LEAVES: Mapping[str, Leaf] = {
    "string": Leaf(decode_text, str.encode),
    "bytes": Leaf(_encode_base64, base64.b64decode),
    "double": Leaf(_decode_double, _encode_double),
    "apimachinery.pkg.api.resource.Quantity": Leaf(_decode_quantity, _encode_quantity),
    "apimachinery.pkg.util.intstr.IntOrString": Leaf(_decode_int_or_string, _encode_int_or_string),
    "apimachinery.pkg.runtime.RawExtension": _JSON,
    f"{_META}.FieldsV1": _JSON,
    f"{_META}.Time": Leaf(_decode_time, _encode_time),
    f"{_META}.MicroTime": Leaf(_decode_micro_time, _encode_micro_time),
    f"{_EXTENSIONS}.JSON": _JSON,
    "api.authentication.v1.ExtraValue": _TEXTS,
    "api.authorization.v1.ExtraValue": _TEXTS,
}


def _list_or_schema(member: str) -> Union:
    """A list of something under this name, or else one schema."""
    return Union(
        lambda content: content.get(member) or content.get("schema"),
        lambda value: {member if isinstance(value, list) else "schema": value},
    )


def _shown_bool(content: JsonObject) -> Any:
    return content["schema"] if "schema" in content else content.get("allows", False)


def _bool_fields(value: Any) -> JsonObject:
    return {"allows": value} if isinstance(value, bool) else {"allows": True, "schema": value}


UNIONS: Mapping[str, Union] = {
    f"{_EXTENSIONS}.JSONSchemaPropsOrArray": _list_or_schema("jSONSchemas"),
    f"{_EXTENSIONS}.JSONSchemaPropsOrBool": Union(_shown_bool, _bool_fields),
    f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray": _list_or_schema("property"),
}
