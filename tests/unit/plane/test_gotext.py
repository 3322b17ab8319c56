"""Texts and numbers look as Go prints them."""

from __future__ import annotations

import pytest

from edgekeeper.local.plane.gotext import quote, show_number


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
