"""Computes exponential backoff with jitter. The queue counts the failures and sets the timers.

    failures   1      2      3     …   18        19 and more
    delay      5 ms   10 ms  20 ms …   655 s     1000 s         each shortened by up to `jitter` of itself

Jitter only shortens a delay, so that `longest` is an upper bound. It comes from a generator that the caller passes, so
that runs are reproducible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from random import Random


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays that grow by a factor from `first` to `longest`."""

    first: timedelta = timedelta(milliseconds=5)
    factor: float = 2.0
    longest: timedelta = timedelta(seconds=1000)
    jitter: float = 0.2
    """The maximum part by which a delay is shortened."""

    def __post_init__(self) -> None:
        if not timedelta(0) < self.first <= self.longest:
            raise ValueError("a backoff starts above zero and does not end below its start")
        if not 1 <= self.factor < math.inf:
            raise ValueError("the factor of a backoff is at least 1")
        if not 0 <= self.jitter < 1:
            raise ValueError("the jitter of a backoff is a part of the pause: at least 0 and below 1")

    def delay(self, failures: int, random: Random) -> timedelta:
        """The delay after this many consecutive failures; zero without a failure."""
        if failures <= 0:
            return timedelta(0)
        return spread(self._pause(failures - 1), self.jitter, random)

    def _pause(self, growths: int) -> timedelta:
        # Compared as logarithms, because the power itself overflows long before an object stops failing.
        if growths * math.log(self.factor) >= math.log(self.longest / self.first):
            return self.longest
        return self.first * self.factor**growths


def spread(interval: timedelta, jitter: float, random: Random) -> timedelta:
    """The interval, shortened at random by up to `jitter` of it, so that timers that started together spread out."""
    return interval * (1 - jitter * random.random())
