"""Texts and numbers look as Go prints them."""

from __future__ import annotations

import pytest

from edgekeeper.schema.gotext import parse_integer, quote, show_number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '""'),
        ("plain é", '"plain é"'),
        ('a "b" \\', '"a \\"b\\" \\\\"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("\u200b\U000e0001", '"\\u200b\\U000e0001"'),
    ],
)
def test_quote_escapes_what_does_not_print(text: str, expected: str) -> None:
    assert quote(text) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (7, "7"),
        (10**18, "1000000000000000000"),
        (1.0, "1"),
        (0.0, "0"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-2.5, "-2.5"),
        (999999.0, "999999"),
        (1e6, "1e+06"),
        (123456789.0, "1.23456789e+08"),
        (1e100, "1e+100"),
    ],
)
def test_numbers_have_an_exponent_when_large_or_tiny(number: float, expected: str) -> None:
    assert show_number(number) == expected


@pytest.mark.parametrize("number", [0, 7, -7, 2**63 - 1, -(2**63)])
def test_integer_of_64_bits_is_read(number: int) -> None:
    assert parse_integer(str(number)) == number


@pytest.mark.parametrize(
    ("text", "signed", "why"),
    [
        ("", True, "invalid syntax"),
        ("x", True, "invalid syntax"),
        ("1_000", True, "invalid syntax"),
        (" 1", True, "invalid syntax"),
        ("\u0661", True, "invalid syntax"),
        ("-1", False, "invalid syntax"),
        (str(2**63), True, "value out of range"),
        (str(2**64), False, "value out of range"),
        ("9" * 5000, True, "value out of range"),
    ],
)
def test_other_texts_are_no_integers(text: str, signed: bool, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        parse_integer(text, signed=signed)
    assert str(refused.value) == f'strconv.Parse{"Int" if signed else "Uint"}: parsing "{text}": {why}'
