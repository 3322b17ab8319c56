"""Texts as Go writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.library.notation import json_double, plain_double, quote, span_of_time, utf8
from kubecel.standard.times import parse_duration
from kubecel.values import INT_MAX


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain é 😀", '"plain é 😀"'),
        ('say "hi" \\', r'"say \"hi\" \\"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x01\x7f", r'"\x01\x7f"'),
        ("\u00a0\u200b", r'"\u00a0\u200b"'),
        ("\U000e0001", r'"\U000e0001"'),
    ],
)
def test_quoting_escapes_what_does_not_print(text: str, quoted: str) -> None:
    assert quote(text) == quoted


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (1e21, "1000000000000000000000"),
        (1e-7, "0.0000001"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_plain_doubles_have_no_exponent(value: float, text: str) -> None:
    assert plain_double(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_are_read_back_as_they_were_written(value: float) -> None:
    assert float(plain_double(value)) == value
    assert float(json_double(value)) == value
    assert "e" not in plain_double(value)


@pytest.mark.parametrize(
    ("nanos", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_100, "1.1µs"),
        (2_200_000, "2.2ms"),
        (999_999_999, "999.999999ms"),
        (3_300_000_000, "3.3s"),
        (245_000_000_000, "4m5s"),
        (245_001_000_000, "4m5.001s"),
        (18_367_001_000_000, "5h6m7.001s"),
        (3_600_000_000_000, "1h0m0s"),
        (-90_000_000_000, "-1m30s"),
        (INT_MAX, "2562047h47m16.854775807s"),
    ],
)
def test_spans_of_time_are_written_in_hours_minutes_and_seconds(nanos: int, text: str) -> None:
    assert span_of_time(nanos) == text


@given(st.integers(-INT_MAX, INT_MAX))
def test_spans_of_time_are_read_back(nanos: int) -> None:
    assert parse_duration(span_of_time(nanos)).nanos == nanos


def test_halves_of_surrogate_pairs_become_replacement_characters() -> None:
    assert utf8("a\ud800b😀") == "a\ufffdb😀".encode()
