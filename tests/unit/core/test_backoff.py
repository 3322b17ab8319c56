"""Backoff: pauses grow, never beyond their bounds, and the same seed gives the same pauses."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.backoff import Backoff, spread

EXACT = Backoff(jitter=0)
FAILURES = st.integers(1, 10**9)
FACTORS = st.floats(1, 100, allow_nan=False)


def milliseconds(number: float) -> timedelta:
    return timedelta(milliseconds=number)


@pytest.mark.parametrize(
    ("failures", "pause"),
    [
        (-1, milliseconds(0)),
        (0, milliseconds(0)),
        (1, milliseconds(5)),
        (2, milliseconds(10)),
        (3, milliseconds(20)),
        (18, milliseconds(655_360)),
        (19, milliseconds(1_000_000)),
        (20, milliseconds(1_000_000)),
        (10**12, milliseconds(1_000_000)),
    ],
)
def test_pause_doubles_up_to_the_longest(failures: int, pause: timedelta) -> None:
    assert EXACT.delay(failures, Random(0)) == pause


def test_pause_can_start_and_end_elsewhere() -> None:
    bridge = Backoff(first=timedelta(seconds=15), longest=timedelta(seconds=300), jitter=0)
    seconds = [bridge.delay(failures, Random(0)).total_seconds() for failures in range(1, 8)]
    assert seconds == [15, 30, 60, 120, 240, 300, 300]


def test_pause_can_stay_the_same() -> None:
    steady = Backoff(first=timedelta(seconds=1), factor=1, longest=timedelta(seconds=9), jitter=0)
    assert steady.delay(1000, Random(0)) == timedelta(seconds=1)


@given(FAILURES, FACTORS, st.floats(0, 0.99), st.integers())
def test_pause_stays_within_jitter_of_the_exact_one(
    failures: int, factor: float, jitter: float, seed: int
) -> None:
    exact = Backoff(factor=factor, jitter=0).delay(failures, Random(seed))
    pause = Backoff(factor=factor, jitter=jitter).delay(failures, Random(seed))
    assert exact * (1 - jitter) - timedelta(microseconds=1) <= pause <= exact <= EXACT.longest


@given(FAILURES, FACTORS)
def test_pause_never_shrinks_with_failures(failures: int, factor: float) -> None:
    backoff = Backoff(factor=factor, jitter=0)
    assert backoff.delay(failures, Random(0)) <= backoff.delay(failures + 1, Random(0))


def test_pauses_repeat_from_their_seed() -> None:
    first, second = (
        [Backoff().delay(number, random) for number in range(30)] for random in (Random(7), Random(7))
    )
    assert first == second


def test_jitter_spreads_what_started_together() -> None:
    random = Random(1)
    pauses = {spread(timedelta(hours=1), 0.1, random) for _ in range(100)}
    assert len(pauses) > 90
    assert timedelta(minutes=54) <= min(pauses) < max(pauses) <= timedelta(hours=1)


@pytest.mark.parametrize(
    ("backoff", "complaint"),
    [
        ({"first": timedelta(0)}, "above zero"),
        ({"first": timedelta(seconds=2), "longest": timedelta(seconds=1)}, "not end below"),
        ({"factor": 0.5}, "at least 1"),
        ({"factor": float("nan")}, "at least 1"),
        ({"factor": float("inf")}, "at least 1"),
        ({"jitter": 1.0}, "below 1"),
        ({"jitter": -0.1}, "at least 0"),
    ],
    ids=str,
)
def test_backoff_refuses_what_would_not_back_off(backoff: dict[str, float], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Backoff(**backoff)  # type: ignore[arg-type] # one table for fields of two types
