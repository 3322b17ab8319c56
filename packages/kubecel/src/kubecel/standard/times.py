"""Timestamps and durations as text: RFC 3339, and Go's notation of durations.

Python's `datetime` ends at microseconds, so nanoseconds are handled here and `datetime` is asked about the calendar
only.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

from kubecel.errors import EvaluationError, conversion_error, overflow
from kubecel.standard.numbers import plain_double
from kubecel.values import INT_MAX, INT_MIN, MAX_TIMESTAMP, MIN_TIMESTAMP, NANOS, Duration, Timestamp

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_DAY: Final = 86_400
_MAX_NUMBER: Final = 64
"""Digits of one number in a duration; longer ones are far out of range."""

_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_DURATION_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": NANOS,
    "m": 60 * NANOS,
    "h": 3_600 * NANOS,
}


def parse_timestamp(text: str) -> Timestamp:
    """Read a moment in RFC 3339. Digits beyond nanoseconds are dropped."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise _not_a("timestamp")
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    if hour > 23 or minute > 59 or second > 59:
        raise _not_a("timestamp")
    try:
        days = date(year, month, day).toordinal() - _EPOCH_DAY
    except ValueError:
        # Year zero is a date to Go, though outside the range of timestamps; for the caller both are errors.
        raise _not_a("timestamp") from None
    seconds = days * _DAY + hour * 3600 + minute * 60 + second - _offset(found)
    fraction = (found[7] or "")[:9].ljust(9, "0")
    nanos = seconds * NANOS + int(fraction)
    if not MIN_TIMESTAMP <= nanos <= MAX_TIMESTAMP:
        raise overflow("timestamp")
    return Timestamp(nanos)


def _offset(found: re.Match[str]) -> int:
    sign, hours, minutes = found[8], found[9], found[10]
    if sign is None:
        return 0
    if int(hours) > 24 or int(minutes) > 59:
        raise _not_a("timestamp")
    seconds = int(hours) * 3600 + int(minutes) * 60
    return -seconds if sign == "-" else seconds


def format_timestamp(moment: Timestamp) -> str:
    """RFC 3339 in UTC, with as many digits of the second as needed."""
    seconds, nanos = divmod(moment.nanos, NANOS)
    whole = EPOCH + timedelta(seconds=seconds)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{whole.year:04d}-{whole:%m-%dT%H:%M:%S}{fraction}Z"


def parse_duration(text: str) -> Duration:
    """Read a span such as `-1h2.5s`. Digits beyond nanoseconds are dropped."""
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return Duration(0)
    nanos, position = 0, 0
    while position < len(rest):
        found = _DURATION_PART.match(rest, position)
        if found is None or not (found[1] or found[2]) or len(found[1]) > _MAX_NUMBER:
            raise _not_a("duration")
        nanos += _part_nanos(found)
        position = found.end()
    if not rest or not INT_MIN <= sign * nanos <= INT_MAX:
        raise _not_a("duration")
    return Duration(sign * nanos)


def _part_nanos(found: re.Match[str]) -> int:
    unit = _UNITS[found[3]]
    fraction = (found[2] or "")[:_MAX_NUMBER]
    part = unit * int(fraction) // 10 ** len(fraction) if fraction else 0
    return unit * int(found[1] or "0") + part


def format_duration(span: Duration) -> str:
    """The span in seconds: `1.5s`. Like Go, by way of a double, which has some 16 digits."""
    return f"{plain_double(span.nanos / NANOS)}s"


def _not_a(what: str) -> EvaluationError:
    return conversion_error(f"type conversion error from 'string' to 'google.protobuf.{what.capitalize()}'")
