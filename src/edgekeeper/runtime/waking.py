"""Waking up in company: in a crowd, what arrives together is handled together.

An operator waits most of the time, and what it waits for arrives in drops: the answer to a write, then the event that
tells of the same write. A process that jumps at every drop pays for every jump. Its code and data have left the caches
of the processor meanwhile, which makes the same work take about twice as long, and whoever had the processor is
pushed aside. So a loop that is woken again and again rests a little, and then looks what has come:

    few wake it        an arrival is handled at once, so that the steps of a single object follow one another
    a crowd wakes it   it rests for a while since it last woke, then handles all that has arrived; for longer if the last
                       time brought little
    it is busy         a loop that works half of its time or more never rests: what arrives has company anyway

A network card treats its processor in the same way. The price is some milliseconds for an answer amid a crowd; timers
are on time.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

SHORT_REST, LONG_REST = 0.01, 0.02
"""Seconds from one awakening to the next, at least, in a crowd: after one that was worth it, and after one that was not."""
WORTH_IT = 3
"""Connections on which something has arrived. One is often just the watch, which tells of one write after another."""
CROWD, WITHIN = 32, 1.0
"""So many awakenings within so many seconds are a crowd. Resting does not end it: it lets through more than that."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, on a loop that rests."""
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(RestingSelector())) as runner:
        return runner.run(main)


class RestingSelector(selectors.DefaultSelector):
    """What an event loop waits with."""

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._sleep = sleep
        self._asleep = 0.0
        """Seconds in all."""
        self._awakenings = deque([(float("-inf"), 0.0)] * CROWD, maxlen=CROWD)
        """When the last ones were, and how long it had been asleep by then."""
        self._interval = SHORT_REST

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait until something has arrived or `timeout` is over, and rest first where a crowd is about."""
        if timeout is not None and timeout <= 0:
            return super().select(0)
        fell_asleep = self._monotonic()
        rest = self._rest(fell_asleep)
        if timeout is not None:
            rest = min(rest, timeout)
            timeout -= rest
        if rest > 0:
            self._sleep(rest)
        arrived = super().select(timeout)
        woke = self._monotonic()
        self._asleep += woke - fell_asleep
        self._awakenings.append((woke, self._asleep))
        self._interval = SHORT_REST if len(arrived) >= WORTH_IT else LONG_REST
        return arrived

    def _rest(self, now: float) -> float:
        """How long to rest, in seconds."""
        since, asleep = self._awakenings[0]
        if now - since > WITHIN or self._asleep - asleep <= (now - since) / 2:
            return 0.0
        return max(0.0, self._awakenings[-1][0] + self._interval - now)
