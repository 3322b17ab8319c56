"""How long a call takes, in processor time: what else runs on the machine shows in it less than in the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from timeit import Timer
from typing import Any

from benchmarks.row import ROUNDS

MICROSECOND = 1e-6
ENOUGH = 0.02
"""Seconds that a measurement takes at least, so that the clock's steps do not show."""


def microseconds(act: Callable[[], Any], *, enough: float = ENOUGH) -> float:
    """The time of one call, by the best of a few rounds of many."""
    timer = Timer(act, timer=time.process_time)
    number = 1
    while timer.timeit(number) < enough:
        number *= 2
    return min(timer.repeat(ROUNDS, number)) / number / MICROSECOND


def median_ratio(ours: Mapping[str, float], theirs: Mapping[str, float]) -> float:
    """How many times longer theirs takes, by the median over what both can do."""
    return median(theirs[name] / ours[name] for name in theirs)
