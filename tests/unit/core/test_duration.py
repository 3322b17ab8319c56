"""Durations in messages: short, and in the form in which flags take them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.cli.duration import Duration
from edgekeeper.core.duration import format_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0001, "0s"),
        (0.2, "200ms"),
        (0.9996, "1s"),
        (1, "1s"),
        (2.55, "2.5s"),
        (9.97, "10s"),
        (59.6, "1m"),
        (90, "1m30s"),
        (3600, "1h"),
        (3661, "1h1m1s"),
        (26 * 3600, "26h"),
        (-90, "-1m30s"),
    ],
)
def test_duration_is_short(seconds: float, text: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == text


@given(st.integers(0, 10**7))
def test_duration_in_whole_seconds_can_be_given_back_as_a_flag(seconds: int) -> None:
    duration = timedelta(seconds=seconds)
    assert Duration().convert(format_duration(duration), None, None) == duration
