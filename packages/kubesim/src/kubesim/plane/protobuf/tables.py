"""What the messages of the built-in kinds look like on the wire, read once from the packaged data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import msgspec

from kubesim.plane.wire import FIXED64, LENGTH, VARINT, varint

MAGIC = b"k8s\x00"
_OPTIONS_KIND = "DeleteOptions"
_WIRE_TYPES = {"bool": VARINT, "int": VARINT, "double": FIXED64}


@dataclass(frozen=True, slots=True)
class _Tables:
    kinds: Mapping[str, str]
    messages: Mapping[str, Mapping[str, list[str]]]


@cache
def _tables() -> _Tables:
    path = files("kubesim.plane") / "data" / "protobuf.json"
    return msgspec.json.decode(path.read_bytes(), type=_Tables)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message: its JSON name, the type of one value, and how values add up."""

    name: str
    type: str
    wire_type: int
    tag: bytes
    repeated: bool = False
    mapped: bool = False
    inline: bool = False
    keeps_zero: bool = False

    @classmethod
    def parse(cls, number: int, name: str, declared: str, flag: str = "") -> Field:
        value_type = declared.removeprefix("[]").removeprefix("{}")
        mapped = declared.startswith("{}")
        wire_type = LENGTH if mapped else _WIRE_TYPES.get(value_type, LENGTH)
        return cls(
            name=name,
            type=value_type,
            wire_type=wire_type,
            tag=varint(number << 3 | wire_type),
            repeated=declared.startswith("[]"),
            mapped=mapped,
            inline=flag == "inline",
            keeps_zero=flag == "zero",
        )


@cache
def message_fields(name: str) -> Mapping[int, Field]:
    """Return the fields of a message by their numbers, in ascending order, as they are written."""
    declared = {int(number): field for number, field in _tables().messages[name].items()}
    return {number: Field.parse(number, *declared[number]) for number in sorted(declared)}


def message_of(api_version: str, kind: str) -> str | None:
    """Return the name of the message that holds objects of a kind, or `None` where there is none."""
    # Options travel under the version of whatever they are meant for.
    lookup = f"v1 {kind}" if kind == _OPTIONS_KIND else f"{api_version} {kind}"
    return _tables().kinds.get(lookup)
