"""Rate limit for corrections of drift.

If another controller keeps writing the same external object, each correction would provoke the next write, without end.
So an object is corrected immediately up to `BURST` times, and then at most once per `INTERVAL`. Meanwhile drift is
reported.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.core.clock import Clock

BURST: Final = 5
"""How many corrections of an object may follow each other immediately."""
INTERVAL: Final = timedelta(minutes=5)
"""The shortest average interval between corrections after that."""
_WINDOW_SECONDS: Final = BURST * INTERVAL.total_seconds()


class Corrections:
    """Recent corrections by uid. Kept in memory only: a restart starts anew."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._moments: dict[str, list[float]] = {}
        """Ordered by the last correction."""

    def __len__(self) -> int:
        """How many objects have recent corrections."""
        return len(self._moments)

    def may_correct_now(self, uid: str) -> bool:
        """Whether an object may be corrected now."""
        return len(self._recent(uid)) < BURST

    def time_left(self, uid: str) -> timedelta:
        """How long an object may not be corrected; zero if it may be now."""
        recent = self._recent(uid)
        if len(recent) < BURST:
            return timedelta(0)
        return timedelta(seconds=recent[-BURST] + _WINDOW_SECONDS - self._clock.monotonic())

    def note(self, uid: str) -> None:
        """Record a correction."""
        moments = [*self._recent(uid), self._clock.monotonic()]
        self._moments.pop(uid, None)
        self._moments[uid] = moments
        while not self._recent(oldest := next(iter(self._moments))):
            del self._moments[oldest]

    def forget(self, uid: str) -> None:
        """Drop the state of an object that no longer exists."""
        self._moments.pop(uid, None)

    def _recent(self, uid: str) -> list[float]:
        since = self._clock.monotonic() - _WINDOW_SECONDS
        return [moment for moment in self._moments.get(uid, ()) if moment > since]
