"""Arithmetic within 64 bits."""

from __future__ import annotations

from math import inf, isnan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.errors import ErrorKind, EvaluationError
from kubecel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, Timestamp, Uint
from packages.kubecel.tests.engine import evaluate, failure

INTS = st.integers(INT_MIN, INT_MAX)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("7 % 2", 1),
        ("-7 % 2", -1),
        ("7 % -2", 1),
        ("7u / 2u", 3),
        ("7u % 2u", 1),
        ("2.5 * 2.0", 5.0),
        ("1.0 / 0.0", inf),
        ("-1.0 / 0.0", -inf),
        ("1.0 / -0.0", -inf),
        ("-(-5)", 5),
        ("'a' + 'b'", "ab"),
        ("b'a' + b'b'", b"ab"),
        ("[1] + [2]", [1, 2]),
        ("duration('1h') + duration('1m')", Duration(3_660 * 10**9)),
        ("duration('1h') - duration('1m')", Duration(3_540 * 10**9)),
        ("timestamp(60) + duration('1m')", Timestamp(120 * 10**9)),
        ("duration('1m') + timestamp(60)", Timestamp(120 * 10**9)),
        ("timestamp(60) - duration('1m')", Timestamp(0)),
        ("timestamp(60) - timestamp(0)", Duration(60 * 10**9)),
    ],
)
def test_arithmetic_computes(text: str, value: Any) -> None:
    found = evaluate(text)
    assert found == value


def test_zero_by_zero_is_not_a_number() -> None:
    assert isnan(evaluate("0.0 / 0.0"))


@pytest.mark.parametrize(
    "text",
    [
        f"{INT_MAX} + 1",
        f"{INT_MIN} - 1",
        f"{INT_MAX} * 2",
        f"{INT_MIN} / -1",
        f"{INT_MIN} % -1",
        f"-({INT_MIN})",
        f"{UINT_MAX}u + 1u",
        "1u - 2u",
        f"{UINT_MAX}u * 2u",
        "timestamp('9999-12-31T23:59:59Z') + duration('1s')",
        "timestamp('0001-01-01T00:00:00Z') - duration('1ns')",
        "duration('2562047h') + duration('1h')",
        "timestamp('9999-01-01T00:00:00Z') - timestamp('0001-01-01T00:00:00Z')",
    ],
)
def test_results_beyond_their_type_are_an_error(text: str) -> None:
    assert failure(text).kind is ErrorKind.OVERFLOW


@pytest.mark.parametrize("text", ["1 / 0", "1 % 0", "1u / 0u", "1u % 0u"])
def test_division_of_whole_numbers_by_zero_is_an_error(text: str) -> None:
    assert failure(text).kind is ErrorKind.DIVISION_BY_ZERO


@pytest.mark.parametrize("text", ["x + 1u", "x * 1.0", "x - '1'", "-x.y", "1.5 % x"])
def test_types_do_not_mix(text: str) -> None:
    assert failure(text, checked=False, x=1).kind in (ErrorKind.NO_SUCH_OVERLOAD, ErrorKind.NO_SUCH_KEY)


@given(INTS, INTS)
def test_quotient_and_remainder_make_the_dividend(dividend: int, divisor: int) -> None:
    try:
        quotient, remainder = evaluate("[a / b, a % b]", a=dividend, b=divisor)
    except EvaluationError as error:
        assert divisor == 0 or error.kind is ErrorKind.OVERFLOW  # noqa: PT017
        return
    assert quotient * divisor + remainder == dividend
    assert abs(remainder) < abs(divisor)


@given(st.integers(0, UINT_MAX), st.integers(0, UINT_MAX))
def test_unsigned_sums_are_exact_or_refused(left: int, right: int) -> None:
    if left + right > UINT_MAX:
        assert failure("a + b", a=Uint(left), b=Uint(right)).kind is ErrorKind.OVERFLOW
    else:
        assert evaluate("a + b", a=Uint(left), b=Uint(right)) == left + right
