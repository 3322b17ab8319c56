"""Quantities: reading, the canonical spelling, arithmetic and comparison, as the API server has them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.errors import ErrorKind, EvaluationError
from kubecel.library.kubernetes.quantity import (
    FORMAT_WRONG,
    Quantity,
    from_integer,
    is_quantity,
    parse_quantity,
)
from packages.kubecel.tests.library.evaluating import failure, in_kro

SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}

amounts = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.decimals(min_value=0, max_value=10**12, places=3).map(str),
    st.sampled_from([*SUFFIXES, "Ki", "Mi", "Gi", "e3", "E-3"]),
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("0.0", "0"),
        ("-0", "0"),
        ("1", "1"),
        ("+1", "1"),
        ("1.", "1"),
        (".5", "500m"),
        ("00.5", "500m"),
        ("1500", "1500"),
        ("1000", "1k"),
        ("1000k", "1M"),
        ("1.5G", "1500M"),
        ("0.1", "100m"),
        ("12e6", "12e6"),
        ("12E5", "1200e3"),
        ("1e4", "10e3"),
        ("1e-1", "100e-3"),
        ("1E", "1E"),
        ("1000E", "1000E"),
        ("1024Mi", "1Gi"),
        ("1.5Ki", "1536"),
        ("0.5Ki", "512"),
        ("2048", "2048"),
        ("2Ki", "2Ki"),
        ("1Ei", "1Ei"),
        ("16Ei", "9223372036854775807"),
        ("-16Ei", "-9223372036854775807"),
        ("1.1111111111", "1111111112n"),
        ("0.0000000001", "1n"),
        ("-0.0000000001", "-1n"),
        ("0.0000000001Ki", "103n"),
        ("1e400", "10e399"),
        ("1e-400", "1e-9"),
        ("k", "0"),
    ],
)
def test_quantity_is_written_with_the_largest_suffix_that_needs_no_fraction(
    text: str, canonical: str
) -> None:
    assert str(parse_quantity(text)) == canonical


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", FORMAT_WRONG),
        ("1 ", FORMAT_WRONG),
        (" 1", FORMAT_WRONG),
        ("1.2.3", FORMAT_WRONG),
        ("1e3x", FORMAT_WRONG),
        ("\u0661", FORMAT_WRONG),
        ("--1", "unable to parse quantity's suffix"),
        ("1ee3", "unable to parse quantity's suffix"),
        ("1e", "unable to parse quantity's suffix"),
        ("1K", "unable to parse quantity's suffix"),
        ("1ki", "unable to parse quantity's suffix"),
        ("1e99999999999999999999", "unable to parse quantity's suffix"),
        ("Ei", "unable to parse numeric part of quantity"),
        ("e-12", "unable to parse numeric part of quantity"),
    ],
)
def test_text_that_is_no_quantity_is_refused_with_the_servers_words(text: str, problem: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_quantity(text)

    assert caught.value.message == problem
    assert caught.value.kind is ErrorKind.INVALID_ARGUMENT
    assert not is_quantity(text)


@pytest.mark.parametrize(
    ("text", "integer"),
    [
        ("0", 0),
        ("5", 5),
        ("-5", -5),
        ("1k", 1000),
        ("1e18", 10**18),
        ("1Gi", 2**30),
        ("1e19", None),
        ("1.5", None),
        ("1000m", None),
        ("1.5Ki", None),
        ("9999999999999999999", None),
        ("0e400", 0),
        ("1e2000000000", None),
    ],
)
def test_quantity_is_an_integer_if_the_server_holds_it_as_one(text: str, integer: int | None) -> None:
    assert parse_quantity(text).as_integer() == integer


def test_exact_quantity_that_is_held_in_decimals_is_no_integer() -> None:
    assert parse_quantity("1.5").plus(parse_quantity("0.5")).as_integer() is None
    assert parse_quantity("1.5").plus(parse_quantity("0.5")) == parse_quantity("2")


@pytest.mark.parametrize(
    ("first", "second", "total"),
    [
        ("1Ki", "1", "1025"),
        ("0", "1Ki", "1Ki"),
        ("1.5Gi", "512Mi", "2Gi"),
        ("1", "1Ki", "1025"),
        ("100m", "900m", "1"),
        ("9223372036854775807", "1", "9223372036854775808"),
        ("1e3", "1k", "2e3"),
        ("0", "0", "0"),
    ],
)
def test_sum_takes_the_notation_of_the_first_amount_unless_that_is_zero(
    first: str, second: str, total: str
) -> None:
    assert str(parse_quantity(first).plus(parse_quantity(second))) == total


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1k", 1000.0),
        ("0.1", 0.1),
        ("1e400", float("inf")),
        ("-1e400", float("-inf")),
        ("1e-400", 1e-9),
        ("0", 0.0),
    ],
)
def test_float_is_infinite_only_beyond_all_doubles(text: str, expected: float) -> None:
    assert parse_quantity(text).as_float() == expected


@given(amounts, amounts)
def test_quantities_compare_and_add_like_the_numbers_they_are(first: str, second: str) -> None:
    left, right = parse_quantity(first), parse_quantity(second)
    left_number, right_number = _number(left), _number(right)

    assert left.compare(right) == (left_number > right_number) - (left_number < right_number)
    assert _number(left.plus(right)) == left_number + right_number
    assert _number(left.minus(right)) == left_number - right_number
    assert (left == right) == (left_number == right_number)
    if left == right:
        assert hash(left) == hash(right)


@given(amounts)
def test_canonical_spelling_is_read_back_as_the_same_amount(text: str) -> None:
    quantity = parse_quantity(text)

    assert parse_quantity(str(quantity)) == quantity
    assert str(parse_quantity(str(quantity))) == str(quantity)


def _number(quantity: Quantity) -> Decimal:
    return Decimal(quantity.digits).scaleb(quantity.exponent)


def test_absurd_exponents_are_compared_without_being_written_out() -> None:
    huge, tiny = parse_quantity("1e2147483647"), parse_quantity("-1e2147483640")

    assert huge > tiny
    assert huge > parse_quantity("1")
    assert huge == parse_quantity("1e2147483647")
    assert parse_quantity("1e-2147483647") == parse_quantity("1n")


@pytest.mark.parametrize("operation", ["plus", "minus"])
def test_amounts_too_far_apart_are_not_added(operation: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        getattr(parse_quantity("1e2147483647"), operation)(parse_quantity("1"))

    assert caught.value.kind is ErrorKind.TOO_LARGE


@pytest.mark.parametrize("text", ["1" * 5000, f"0.{'1' * 5000}", f"{'9' * 30}e2000000000"])
def test_endless_digits_are_no_quantity(text: str) -> None:
    assert not is_quantity(text)


def test_integers_are_added_as_plain_numbers() -> None:
    assert parse_quantity("1Gi").plus(from_integer(5)) == parse_quantity("1073741829")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('quantity("500Mi").isLessThan(quantity("1Gi"))', True),
        ('quantity("1k").isGreaterThan(quantity("1Ki"))', False),
        ('quantity("1Ki").compareTo(quantity("1024"))', 0),
        ('quantity("1") == quantity("1000m")', True),
        ('quantity("1") != quantity("2")', True),
        ('quantity("10").add(5).sub(quantity("3")).asInteger()', 12),
        ('quantity("10").sub(20).asInteger()', -10),
        ('sign(quantity("-3"))', -1),
        ('quantity("1500m").asApproximateFloat()', 1.5),
        ('quantity("1.5").isInteger()', False),
        ('isQuantity("1Gi")', True),
        ('isQuantity("one")', False),
        ('[quantity("1"), quantity("2")].indexOf(quantity("2"))', 1),
    ],
)
def test_expressions_calculate_with_quantities(text: str, value: object) -> None:
    assert in_kro(text) == value


def test_fraction_as_integer_is_an_error() -> None:
    assert failure('quantity("1.5").asInteger()').message == "cannot convert value to integer"
