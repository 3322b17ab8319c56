"""The protobuf wire format, and what hostile bytes come to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.json_text import MalformedBodyError
from kubesim.plane.wire import (
    FIXED32,
    FIXED64,
    LENGTH,
    VARINT,
    fields,
    packed_varints,
    signed,
    varint,
)


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (0, b"\x00"),
        (127, b"\x7f"),
        (128, b"\x80\x01"),
        (150, b"\x96\x01"),
        (2**63 - 1, b"\xff" * 8 + b"\x7f"),
        (-1, b"\xff" * 9 + b"\x01"),
        (True, b"\x01"),
    ],
)
def test_varint_has_seven_bits_in_each_byte(number: int, encoded: bytes) -> None:
    assert varint(number) == encoded


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (b"\x08\x96\x01", [(1, VARINT, 150)]),
        (b"\x12\x03abc", [(2, LENGTH, b"abc")]),
        (b"\x12\x00", [(2, LENGTH, b"")]),
        (b"\x19abcdefgh", [(3, FIXED64, b"abcdefgh")]),
        (b"\x25abcd", [(4, FIXED32, b"abcd")]),
        (b"\x08\x01\x08\x02", [(1, VARINT, 1), (1, VARINT, 2)]),
        (b"\xf8\x01\x01", [(31, VARINT, 1)]),
    ],
)
def test_fields_come_with_number_type_and_value(
    data: bytes, found: list[tuple[int, int, int | bytes]]
) -> None:
    assert list(fields(data)) == found


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\x08", "unexpected EOF"),
        (b"\x80", "unexpected EOF"),
        (b"\x12\x05abc", "unexpected EOF"),
        (b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "unexpected EOF"),
        (b"\x19abc", "unexpected EOF"),
        (b"\x08" + b"\x80" * 10 + b"\x01", "proto: integer overflow"),
        (b"\x00\x01", "proto: illegal tag 0 (wire type 0)"),
        (b"\x0b\x0c", "proto: illegal wireType 3"),
        (b"\x0f", "proto: illegal wireType 7"),
    ],
)
def test_fields_refuse_broken_data(data: bytes, problem: str) -> None:
    with pytest.raises(MalformedBodyError) as refusal:
        list(fields(data))
    assert str(refusal.value) == problem


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_packed_varints_read_back(numbers: list[int]) -> None:
    assert list(packed_varints(b"".join(map(varint, numbers)))) == numbers


@given(st.integers(-(2**63), 2**63 - 1))
def test_signed_reads_twos_complement(number: int) -> None:
    assert signed(number % 2**64) == number


@given(st.binary(max_size=200))
def test_fields_of_any_bytes_end_in_values_or_in_a_refusal(data: bytes) -> None:
    try:
        found = list(fields(data))
    except MalformedBodyError:
        return
    assert len(found) <= len(data)
