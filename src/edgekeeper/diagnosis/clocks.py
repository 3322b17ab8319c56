"""Whether the clock of this machine agrees with others, by the header `Date` of their answers. Pure.

AWS refuses requests whose signature is five minutes old, or in the future. A difference is measured with the time that the
request took, and headers have whole seconds.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from edgekeeper.core.duration import format_duration
from edgekeeper.diagnosis.checks import Result, failed, ok, warning

MOST: Final = timedelta(minutes=5)
NOTABLE: Final = timedelta(minutes=1)
REMEDY: Final = (
    "synchronise the clock of the node (NTP, chrony): AWS refuses signatures that are five minutes off"
)


def judge_clock(whose: str, date: str, now: datetime) -> Result | None:
    """Compare our clock with that of a server; None if the server does not say what time it is."""
    theirs = parse_date(date)
    if theirs is None:
        return None
    name, skew = f"clock: {whose}", now - theirs
    words = f"our clock is {format_duration(_whole(abs(skew)))} {'ahead of' if skew > timedelta() else 'behind'} that of {whose}"
    if abs(skew) >= MOST:
        return failed(name, words, REMEDY)
    if abs(skew) >= NOTABLE:
        return warning(name, words, REMEDY)
    return ok(name, "agrees to the minute")


def parse_date(date: str) -> datetime | None:
    """A date as HTTP writes it; None if it is none."""
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _whole(duration: timedelta) -> timedelta:
    return timedelta(seconds=int(duration.total_seconds()))
