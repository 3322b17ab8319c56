"""Corrections of drift, kept from becoming a fight.

Where somebody else writes the same tenant again and again, each correction would call for the next: two controllers
then write for ever, and CloudFront deploys for ever. So an object is corrected at once a few times, and after that as
seldom as it is looked at. What is not corrected is shown as drift in the meantime.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.core.clock import Clock

BURST: Final = 5
"""How many corrections of one object may follow each other without a pause."""
INTERVAL: Final = timedelta(minutes=5)
"""How often it is corrected in the long run, at most."""
_REMEMBERED: Final = BURST * INTERVAL.total_seconds()


class Corrections:
    """When objects were corrected lately. Memory only: after a restart everybody is given credit again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._moments: dict[str, list[float]] = {}
        """The object that was corrected last is at the end."""

    def __len__(self) -> int:
        """How many objects are remembered."""
        return len(self._moments)

    def may_correct_now(self, uid: str) -> bool:
        """May an object be corrected now?"""
        return len(self._recent(uid)) < BURST

    def note(self, uid: str) -> None:
        """An object is being corrected."""
        moments = [*self._recent(uid), self._clock.monotonic()]
        self._moments.pop(uid, None)
        self._moments[uid] = moments
        while not self._recent(oldest := next(iter(self._moments))):
            del self._moments[oldest]

    def forget(self, uid: str) -> None:
        """The object is gone."""
        self._moments.pop(uid, None)

    def _recent(self, uid: str) -> list[float]:
        since = self._clock.monotonic() - _REMEMBERED
        return [moment for moment in self._moments.get(uid, ()) if moment > since]
