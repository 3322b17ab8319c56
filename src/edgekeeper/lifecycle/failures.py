"""How long the passes of an object have been failing.

A series starts with the first failed attempt and ends with one that succeeds. Time in which the operator did not run, or
the object was paused, does not count. Kept in memory only: a restart starts anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from edgekeeper.core.clock import Clock

LONGEST_PAUSE: Final = timedelta(minutes=20)
"""Attempts further apart belong to different series. Longer than any backoff."""


@dataclass(slots=True)
class _Series:
    first: float
    last: float


class Failures:
    """Series of failed passes by uid."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._series: dict[str, _Series] = {}

    def __len__(self) -> int:
        """How many objects are failing."""
        return len(self._series)

    def note(self, uid: str) -> timedelta:
        """Record a failed attempt. Return the time since the first one of its series."""
        now = self._clock.monotonic()
        series = self._series.get(uid)
        if series is None or now - series.last > LONGEST_PAUSE.total_seconds():
            series = self._series[uid] = _Series(now, now)
        series.last = now
        return timedelta(seconds=now - series.first)

    def clear(self, uid: str) -> None:
        """End the series: an attempt has succeeded, or the object no longer exists."""
        self._series.pop(uid, None)
