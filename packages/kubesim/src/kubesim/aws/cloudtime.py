"""The simulated cloud's time: that of the clock it is given, plus what a scenario skips."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from edgekeeper.core.clock import Clock


class SavedTime(msgspec.Struct):
    """A moment, by both clocks, and how much of it was skipped."""

    now: datetime
    monotonic: float
    skipped: timedelta


class CloudTime:
    """A clock that can be set forward, so that an hour of deployment passes at once even in real time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._skipped = timedelta()
        self._shift = 0.0
        """Seconds by which our monotonic clock is ahead of the machine's, which starts anew with it."""

    def now(self) -> datetime:
        return self._clock.now() + self._skipped

    def monotonic(self) -> float:
        return self._clock.monotonic() + self._skipped.total_seconds() + self._shift

    def advance(self, interval: timedelta) -> None:
        """Let time pass in the cloud, and nowhere else."""
        if interval < timedelta():
            raise ValueError("time only passes forwards")
        self._skipped += interval

    def after(self, interval: timedelta) -> float:
        """The moment, in monotonic seconds, at which something is over that begins now."""
        return self.monotonic() + interval.total_seconds()

    def passed(self, moment: float) -> bool:
        return self.monotonic() >= moment

    # --- Over a restart ---

    def save(self) -> SavedTime:
        return SavedTime(self.now(), self.monotonic(), self._skipped)

    def restore(self, saved: SavedTime) -> None:
        """Go on from a moment that another process has seen. Time has passed since, by the clock on the wall."""
        self._skipped = saved.skipped
        absence = max(self.now() - saved.now, timedelta())
        self._shift += saved.monotonic + absence.total_seconds() - self.monotonic()
