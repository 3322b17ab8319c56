"""For how long the passes of an object have been failing.

Time counts while somebody tries: it begins with the first attempt that fails, and ends with one that succeeds. Time in
which the operator was away, or the object was paused, does not count. Memory only: a restart begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from edgekeeper.core.clock import Clock

LONGEST_PAUSE: Final = timedelta(minutes=20)
"""Attempts that are farther apart than this are not one series: no backoff pauses for longer."""


@dataclass(slots=True)
class _Series:
    first: float
    last: float


class Failures:
    """Series of failed passes, by the uid of their object."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._series: dict[str, _Series] = {}

    def __len__(self) -> int:
        """How many objects are failing."""
        return len(self._series)

    def note(self, uid: str) -> timedelta:
        """An attempt has failed. Return how long ago the first one of its series did."""
        now = self._clock.monotonic()
        series = self._series.get(uid)
        if series is None or now - series.last > LONGEST_PAUSE.total_seconds():
            series = self._series[uid] = _Series(now, now)
        series.last = now
        return timedelta(seconds=now - series.first)

    def clear(self, uid: str) -> None:
        """An attempt has succeeded, or the object is gone."""
        self._series.pop(uid, None)
