"""Quantities: reading them, and the one way the server writes them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.kinds.quantity import MILLI, canonical_quantity, parse_quantity


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("1", "1"),
        ("+1", "1"),
        ("0", "0"),
        ("0.0", "0"),
        ("-1", "-1"),
        (1, "1"),
        (0.5, "500m"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("5.", "5"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("100m", "100m"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("100000", "100k"),
        ("1000000", "1M"),
        ("12e6", "12e6"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("1.5e3", "1500"),
        ("1E", "1E"),
        ("1Ki", "1Ki"),
        ("512Ki", "512Ki"),
        ("0.5Ki", "512"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("1536Mi", "1536Mi"),
        ("1000u", "1m"),
        ("1n", "1n"),
        ("0.1n", "1n"),
        ("100k", "100k"),
    ],
)
def test_quantity_is_written_as_by_the_server(written: str | float, canonical: str) -> None:
    assert canonical_quantity(written) == canonical


@pytest.mark.parametrize(
    "text",
    ["", "x", "1x", "1 Gi", "Gi", "1gi", "--1", "1.2.3", "1e", "NaN", "inf", "1e999", "9" * 50, "\u0661"],
)
def test_what_is_no_quantity_is_not_read(text: str) -> None:
    assert parse_quantity(text) is None
    assert canonical_quantity(text) is None


@pytest.mark.parametrize("value", [None, True, [], {}])
def test_only_texts_and_numbers_are_quantities(value: object) -> None:
    assert parse_quantity(value) is None


def test_amounts_of_resources_are_rounded_up_to_thousandths() -> None:
    assert canonical_quantity("1.0001", MILLI) == "1001m"
    assert canonical_quantity("100u", MILLI) == "1m"


SUFFIXES = ("", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3", "E-3")


@given(st.integers(min_value=-(10**6), max_value=10**6), st.sampled_from(SUFFIXES))
def test_canonical_form_is_the_same_amount(number: int, suffix: str) -> None:
    written = f"{number}{suffix}"
    canonical = canonical_quantity(written)
    assert canonical is not None
    assert parse_quantity(canonical) == parse_quantity(written)


@given(st.decimals(min_value=0, max_value=10**9, places=3), st.sampled_from(SUFFIXES))
def test_canonical_form_is_its_own_canonical_form(number: Decimal, suffix: str) -> None:
    canonical = canonical_quantity(f"{number}{suffix}")
    assert canonical is not None
    assert canonical_quantity(canonical) == canonical
