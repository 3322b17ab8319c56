"""When a mirror lists next.

    listings fail                 the backoff of `failing`, or what the provider asked for, if that is longer
    `poke` was called             `gap` after the last listing began
    something is in progress      `fast`  ┐ less up to `jitter` of it, but no less than
    nothing is                    `slow`  ┘ ten and four times as long as a listing takes

The first row that applies is used, also while the mirror waits, so an event can bring the next listing forward. The last
limits keep listings of a large collection below a quarter of the rate limit, or a tenth while something is in progress.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from edgekeeper.core.backoff import Backoff

_LISTINGS_PER_INTERVAL = 4
_LISTINGS_PER_BUSY_INTERVAL = 10


def _failing() -> Backoff:
    return Backoff(first=timedelta(seconds=2), longest=timedelta(minutes=5))


@dataclass(frozen=True, slots=True)
class PaceOptions:
    """The intervals of the table at the top, each from the beginning of one listing to that of the next."""

    fast: timedelta = timedelta(seconds=30)
    slow: timedelta = timedelta(minutes=5)
    jitter: float = 0.1
    """Only shortens an interval, so that `slow` is an upper bound."""
    gap: timedelta = timedelta(seconds=2)
    failing: Backoff = field(default_factory=_failing)


class Pace:
    """Decides when to list next."""

    def __init__(self, options: PaceOptions, random: Random) -> None:
        self._options = options
        self._random = random
        self._began = self._took = 0.0
        self._failures = 0
        self._pause = 0.0
        """The backoff while listings fail."""
        self._busy = self._poked = self._hastened = False
        self._news = asyncio.Event()

    def began(self) -> None:
        """A listing begins: it covers all pokes so far."""
        self._began = asyncio.get_running_loop().time()
        self._poked = self._hastened = False

    def ended(self) -> None:
        """The listing is complete."""
        self._took = asyncio.get_running_loop().time() - self._began
        self._failures = 0

    def failed(self, asked_for: timedelta = timedelta(0)) -> None:
        """The listing failed; `asked_for` is the pause that the provider requested."""
        self._failures += 1
        delay = self._options.failing.delay(self._failures, self._random)
        elapsed = asyncio.get_running_loop().time() - self._began
        self._pause = elapsed + max(delay, asked_for).total_seconds()

    def set_busy(self, busy: bool) -> None:
        """Something is in progress, or nothing is."""
        self._busy = busy
        self._news.set()

    def hasten(self) -> None:
        """Choose the interval of the next listing as if something were in progress."""
        self._hastened = True
        self._news.set()

    def poke(self) -> None:
        """List soon: something is expected to have changed."""
        self._poked = True
        self._news.set()

    async def rest(self) -> None:
        """Wait until the next listing is due."""
        loop = asyncio.get_running_loop()
        shortened = 1 - self._options.jitter * self._random.random()
        while (left := self._began + self._interval(shortened) - loop.time()) > 0:
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._news.wait()

    def _interval(self, shortened: float) -> float:
        options = self._options
        if self._failures:  # a poke does not end a failure
            return self._pause
        if self._poked:
            return options.gap.total_seconds()
        if self._busy or self._hastened:
            return max(options.fast.total_seconds() * shortened, self._took * _LISTINGS_PER_BUSY_INTERVAL)
        return max(options.slow.total_seconds() * shortened, self._took * _LISTINGS_PER_INTERVAL)
