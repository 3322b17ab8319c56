"""Conversions between types, and numbers as Go writes them."""

from __future__ import annotations

from math import inf, isnan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.errors import ErrorKind
from kubecel.standard.numbers import format_double, parse_double, plain_double
from kubecel.values import Duration, Timestamp, Uint
from packages.kubecel.tests.engine import evaluate, failure


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("int('-12')", -12),
        ("int('+12')", 12),
        ("int(1.9)", 1),
        ("int(-1.9)", -1),
        ("int(5u)", 5),
        ("int(timestamp('1970-01-01T00:01:00.9Z'))", 60),
        ("int(timestamp('1969-12-31T23:59:59.5Z'))", -1),
        ("int(duration('1s'))", 10**9),
        ("uint('12')", Uint(12)),
        ("uint(1.9)", Uint(1)),
        ("uint(5)", Uint(5)),
        ("double('1.5e3')", 1500.0),
        ("double('0x1p-2')", 0.25),
        ("double('-Infinity')", -inf),
        ("double(3)", 3.0),
        ("double(3u)", 3.0),
        ("string(1.0)", "1"),
        ("string(true)", "true"),
        ("string(b'abc')", "abc"),
        ("string(5u)", "5"),
        ("string(timestamp(0))", "1970-01-01T00:00:00Z"),
        ("string(duration('90m'))", "5400s"),
        ("bytes('é')", "é".encode()),
        ("bool('T')", True),
        ("bool('0')", False),
        ("bool(true)", True),
        ("timestamp(1)", Timestamp(10**9)),
        ("duration(duration('1s'))", Duration(10**9)),
        ("dyn([1])", [1]),
    ],
)
def test_conversions_convert(text: str, value: Any) -> None:
    found = evaluate(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("int('1.5')", ErrorKind.CONVERSION),
        ("int('1_000')", ErrorKind.CONVERSION),
        ("int(' 1')", ErrorKind.CONVERSION),
        ("int('9223372036854775808')", ErrorKind.CONVERSION),
        ("int(9223372036854775808.0)", ErrorKind.OVERFLOW),
        ("int(-9223372036854775808.0)", ErrorKind.OVERFLOW),
        ("int(0.0 / 0.0)", ErrorKind.OVERFLOW),
        ("int(18446744073709551615u)", ErrorKind.OVERFLOW),
        ("uint('-1')", ErrorKind.CONVERSION),
        ("uint('+1')", ErrorKind.CONVERSION),
        ("uint(-1)", ErrorKind.OVERFLOW),
        ("uint(-1.0)", ErrorKind.OVERFLOW),
        ("uint(18446744073709551616.0)", ErrorKind.OVERFLOW),
        ("double('1e999')", ErrorKind.CONVERSION),
        ("double('0x1p99999')", ErrorKind.CONVERSION),
        ("double('1_0')", ErrorKind.CONVERSION),
        ("double('')", ErrorKind.CONVERSION),
        ("bool('yes')", ErrorKind.CONVERSION),
        ("string(b'\\xff')", ErrorKind.CONVERSION),
        ("timestamp(253402300800)", ErrorKind.OVERFLOW),
        ("duration(5)", ErrorKind.CONVERSION),
        ("bytes(x)", ErrorKind.INVALID_ARGUMENT),
        ("int(dyn([]))", ErrorKind.NO_SUCH_OVERLOAD),
    ],
)
def test_what_cannot_be_converted_is_an_error(text: str, kind: ErrorKind) -> None:
    assert failure(text, x="\ud800").kind is kind


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (0.5, "0.5"),
        (-12300.0, "-12300"),
        (123456.789, "123456.789"),
        (999999.0, "999999"),
        (1e6, "1e+06"),
        (1234567.89, "1.23456789e+06"),
        (1e21, "1e+21"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-1.5e300, "-1.5e+300"),
        (inf, "+Inf"),
        (-inf, "-Inf"),
    ],
)
def test_doubles_are_written_as_in_go(number: float, text: str) -> None:
    assert format_double(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_survive_being_written(number: float) -> None:
    assert parse_double(format_double(number)) == number
    assert float(plain_double(number)) == number
    assert "e" not in plain_double(number)


def test_nan_is_read_and_written() -> None:
    assert isnan(parse_double("nan"))
    assert format_double(float("nan")) == "NaN"
