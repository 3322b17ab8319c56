"""Clocks as dependencies: wall time for display, monotonic time for intervals.

Code gets its clock as a parameter: `SystemClock` in production; in tests `VirtualClock`, or an event loop with virtual
time (`kubesim.virtual`). Wall time may jump, be wrong or go back, so it is only displayed, or compared with expiry dates
with a margin; every interval is measured with `monotonic`.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import floor
from typing import Protocol


class Clock(Protocol):
    """A source of wall time and monotonic time."""

    def now(self) -> datetime:
        """Wall time, UTC. May jump."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment. Never goes back."""


_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""A clock that runs while the machine is suspended, if the system has one: a leader must notice the time that passed."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.clock_gettime(_SINCE_BOOT)


class VirtualClock:
    """A clock that only moves by `advance` and `jump`."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, interval: timedelta) -> None:
        """Move both clocks forward."""
        self._now += interval
        self._monotonic += interval.total_seconds()

    def jump(self, interval: timedelta) -> None:
        """Set the wall clock forward or back, as NTP may do. The monotonic clock does not move."""
        self._now += interval


def timestamp(moment: datetime) -> str:
    """A time as Kubernetes writes it: UTC, whole seconds."""
    return _spelled(floor(moment.timestamp()))


@lru_cache(maxsize=64)
def _spelled(second: int) -> str:
    """Cached, because the same second is formatted many times."""
    return datetime.fromtimestamp(second, UTC).isoformat()[:19] + "Z"


def micro_timestamp(moment: datetime) -> str:
    """A time as Kubernetes writes its MicroTime: UTC, always six digits after the second."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def parse_timestamp(text: str) -> datetime:
    """Parse a time as Kubernetes writes it. Raise ValueError for anything else."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"a time without its zone: {text!r}")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"a time before the year 1 or after 9999: {text!r}") from error
