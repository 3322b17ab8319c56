"""The simulated cloud's time: that of the clock it is given, plus what a scenario skips."""

from __future__ import annotations

from datetime import datetime, timedelta

from edgekeeper.core.clock import Clock


class CloudTime:
    """A clock that can be set forward, so that an hour of deployment passes at once even in real time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._skipped = timedelta()

    def now(self) -> datetime:
        return self._clock.now() + self._skipped

    def monotonic(self) -> float:
        return self._clock.monotonic() + self._skipped.total_seconds()

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
