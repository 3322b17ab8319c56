"""How long to wait before trying again: arithmetic only. The queue counts the failures and holds the timers.

    failures   1      2      3     …   18        19 and more
    delay      5 ms   10 ms  20 ms …   655 s     1000 s         each less up to `jitter` of itself

Jitter only ever shortens, so that `longest` is a promise, and it is drawn from a generator handed in, so that a run
can be repeated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from random import Random


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses that grow by a factor from `first` to `longest`."""

    first: timedelta = timedelta(milliseconds=5)
    factor: float = 2.0
    longest: timedelta = timedelta(seconds=1000)
    jitter: float = 0.2
    """The part of a pause, at most, by which it is shortened."""

    def __post_init__(self) -> None:
        if not timedelta(0) < self.first <= self.longest:
            raise ValueError("a backoff starts above zero and does not end below its start")
        if not 1 <= self.factor < math.inf:
            raise ValueError("the factor of a backoff is at least 1")
        if not 0 <= self.jitter < 1:
            raise ValueError("the jitter of a backoff is a part of the pause: at least 0 and below 1")

    def delay(self, failures: int, random: Random) -> timedelta:
        """The pause after this many failures in a row. After none there is none."""
        if failures <= 0:
            return timedelta(0)
        return spread(self._pause(failures - 1), self.jitter, random)

    def _pause(self, growths: int) -> timedelta:
        # Compared as logarithms, because the power itself overflows long before an object stops failing.
        if growths * math.log(self.factor) >= math.log(self.longest / self.first):
            return self.longest
        return self.first * self.factor**growths


def spread(interval: timedelta, jitter: float, random: Random) -> timedelta:
    """The interval, or up to `jitter` of it less, so that what started together does not stay together."""
    return interval * (1 - jitter * random.random())
