"""Parts of timestamps and durations: years, hours and so on, in UTC or in another zone.

A zone is a name of the IANA database (`Europe/Berlin`) or an offset (`+02:00`, `-3:30`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from kubecel.errors import invalid_argument, overflow
from kubecel.functions import Function, Overload
from kubecel.standard.declaring import member
from kubecel.standard.times import EPOCH
from kubecel.types import DURATION, INT, STRING, TIMESTAMP
from kubecel.values import NANOS, Duration, Timestamp

_OFFSET: Final = re.compile(r"([+-]?)([0-9]{1,2}):([0-9]{1,2})")
_NAME: Final = re.compile(r"[A-Za-z0-9_+\-]+(?:/[A-Za-z0-9_+\-]+)*")
_UTC_NAMES: Final = frozenset({"", "UTC", "Local"})


@lru_cache(maxsize=256)
def find_zone(name: str) -> tzinfo:
    """The zone of a name or an offset."""
    if name in _UTC_NAMES:
        return UTC
    if (offset := _OFFSET.fullmatch(name)) is not None:
        minutes = int(offset[2]) * 60 + int(offset[3])
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    elif _NAME.fullmatch(name) is not None:
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            pass
    raise invalid_argument(f"unknown time zone {name}")


def local_time(moment: Timestamp, zone: tzinfo = UTC) -> datetime:
    """Date and time in a zone, without what is below a second."""
    try:
        return (EPOCH + timedelta(seconds=moment.nanos // NANOS)).astimezone(zone)
    except OverflowError:
        raise overflow("timestamp") from None


_PARTS: Final[dict[str, tuple[str, Callable[[datetime], int]]]] = {
    "getFullYear": ("year", lambda moment: moment.year),
    "getMonth": ("month", lambda moment: moment.month - 1),
    "getDayOfYear": ("day_of_year", lambda moment: moment.timetuple().tm_yday - 1),
    "getDayOfMonth": ("day_of_month", lambda moment: moment.day - 1),
    "getDate": ("day_of_month_1_based", lambda moment: moment.day),
    "getDayOfWeek": ("day_of_week", lambda moment: moment.isoweekday() % 7),
    "getHours": ("hours", lambda moment: moment.hour),
    "getMinutes": ("minutes", lambda moment: moment.minute),
    "getSeconds": ("seconds", lambda moment: moment.second),
}
_SPANS: Final = {
    "getHours": ("hours", 3_600 * NANOS),
    "getMinutes": ("minutes", 60 * NANOS),
    "getSeconds": ("seconds", NANOS),
    "getMilliseconds": ("milliseconds", 1_000_000),
}


def _timestamp_overloads(name: str, part: Callable[[datetime], int]) -> tuple[Overload, ...]:
    def in_utc(moment: Timestamp) -> int:
        return part(local_time(moment))

    def in_zone(moment: Timestamp, zone: str) -> int:
        return part(local_time(moment, find_zone(zone)))

    return (
        member(f"timestamp_to_{name}", (TIMESTAMP,), INT, in_utc),
        member(f"timestamp_to_{name}_with_tz", (TIMESTAMP, STRING), INT, in_zone),
    )


def _duration_overload(name: str, unit: int) -> Overload:
    def in_unit(span: Duration) -> int:
        """Whole units, rounded towards zero."""
        whole = abs(span.nanos) // unit
        return -whole if span.nanos < 0 else whole

    return member(f"duration_to_{name}", (DURATION,), INT, in_unit)


def _milliseconds(moment: Timestamp, zone: str = "") -> int:
    """Those within the second, which are the same in every zone; the zone must exist nevertheless."""
    find_zone(zone)
    return moment.nanos % NANOS // 1_000_000


def _functions() -> tuple[Function, ...]:
    overloads = {name: _timestamp_overloads(label, part) for name, (label, part) in _PARTS.items()}
    overloads["getMilliseconds"] = (
        member("timestamp_to_milliseconds", (TIMESTAMP,), INT, _milliseconds),
        member("timestamp_to_milliseconds_with_tz", (TIMESTAMP, STRING), INT, _milliseconds),
    )
    for name, (label, unit) in _SPANS.items():
        overloads[name] = (*overloads[name], _duration_overload(label, unit))
    return tuple(Function(name, declared) for name, declared in overloads.items())


CALENDAR: Final = _functions()
