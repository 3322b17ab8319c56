"""Callbacks of the operator that keep the event loop busy for too long (R-30)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import Any

from kubesim.virtual import DEFAULT_LIMITS, SlowCallback, run_virtual
from tests.results import Figures
from tests.yardstick import slowness

LONGEST = timedelta(milliseconds=100)
NOTED = timedelta(milliseconds=1)
"""From here on the length of a callback is looked at."""
RUNS = 3
_MILLISECOND = timedelta(milliseconds=1)


def slow_callbacks(
    main: Callable[[], Coroutine[Any, Any, None]],
    figures: Figures,
    time_of: Callable[[SlowCallback], timedelta],
) -> list[SlowCallback]:
    """Callbacks that take too long by processor time, given a run in virtual time; none if one of three such runs has none.

    A run repeats itself, so a callback that is slow is so in each of them; one that the machine delays is not.
    """
    slow: list[SlowCallback] = []
    for _ in range(RUNS):
        noted: list[SlowCallback] = []
        run_virtual(main, limits=replace(DEFAULT_LIMITS, slow_callback=NOTED), slow_callbacks=noted)
        noted = [callback for callback in noted if not _is_the_test_itself(callback)]
        longest = LONGEST * slowness()
        slow = [callback for callback in noted if time_of(callback) > longest]
        if not slow:
            milliseconds = max(map(time_of, noted), default=timedelta()) / _MILLISECOND
            figures.measure("longest callback", milliseconds, "ms", limit=LONGEST / _MILLISECOND)
            break
    return slow


def _is_the_test_itself(callback: SlowCallback) -> bool:
    """Which plays hundreds of users in one go."""
    return "supervised" in callback.name
