"""The protobuf wire format: tagged fields, varints, nothing about any particular message.

Input comes from the network. Every length is checked before it is used, and each step consumes at least one byte, so
a hostile body costs no more than its size.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.plane.json_text import MalformedBodyError

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
_WIDTHS = {FIXED64: 8, FIXED32: 4}
_ONE_BYTE = [bytes([value]) for value in range(0x80)]


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Yield number, wire type and raw value of each field: an integer for varints, else bytes."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise MalformedBodyError(f"proto: illegal tag {number} (wire type {wire_type})")
        if wire_type == VARINT:
            value, position = _varint(data, position)
            yield number, wire_type, value
            continue
        if wire_type == LENGTH:
            length, position = _varint(data, position)
        elif wire_type in _WIDTHS:
            length = _WIDTHS[wire_type]
        else:
            raise MalformedBodyError(f"proto: illegal wireType {wire_type}")
        end = position + length
        if end > len(data):
            raise MalformedBodyError("unexpected EOF")
        yield number, wire_type, data[position:end]
        position = end


def varint(value: int) -> bytes:
    """Encode an integer; negative ones as the 64-bit two's complement that protobuf uses."""
    if 0 <= value < 0x80:
        return _ONE_BYTE[value]
    rest = value & 0xFFFF_FFFF_FFFF_FFFF
    encoded = bytearray()
    while rest >= 0x80:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def packed_varints(data: bytes) -> Iterator[int]:
    """Yield the numbers of a packed list."""
    position = 0
    while position < len(data):
        value, position = _varint(data, position)
        yield value


def signed(value: int) -> int:
    """Read a varint as the 64-bit two's complement that protobuf uses for negative numbers."""
    return value - 2**64 if value >= 2**63 else value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for offset in range(_LONGEST_VARINT):
        if position + offset >= len(data):
            raise MalformedBodyError("unexpected EOF")
        byte = data[position + offset]
        value |= (byte & 0x7F) << (7 * offset)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position + offset + 1
    raise MalformedBodyError("proto: integer overflow")
