"""Is this a cron schedule? Five fields of numbers, names, ranges and steps, or a word such as `@daily`.

The reasons are those of the parser kube-apiserver uses, because they end up in its message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORDS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DURATION = re.compile(
    r"[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*"
)


@dataclass(frozen=True, slots=True)
class Field:
    """What one field of a schedule may hold."""

    low: int
    high: int
    names: tuple[str, ...] = ()
    first_name: int = 0

    def number(self, text: str) -> int:
        if text.lower() in self.names:
            return self.names.index(text.lower()) + self.first_name
        return _integer(text)


_FIELDS = (Field(0, 59), Field(0, 23), Field(1, 31), Field(1, 12, _MONTHS, 1), Field(0, 6, _DAYS))


class _Malformed(Exception):  # noqa: N818 - a verdict on a text, not a failure
    """The reason against a schedule."""


def schedule_problem(text: str) -> str:
    """Return what is wrong with a schedule, or nothing."""
    try:
        _check(_without_time_zone(text))
    except _Malformed as reason:
        return str(reason)
    return ""


def _without_time_zone(text: str) -> str:
    """A zone in front of the schedule is refused elsewhere, with its own message."""
    return text.partition(" ")[2].strip() if text.startswith(("TZ=", "CRON_TZ=")) else text


def _check(text: str) -> None:
    if not text:
        raise _Malformed("empty spec string")
    if text.startswith("@"):
        _check_word(text)
        return
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise _Malformed(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, part in zip(_FIELDS, fields, strict=True):
        for expression in filter(None, part.split(",")):
            _check_range(field, expression)


def _check_word(text: str) -> None:
    if text in _WORDS:
        return
    if not text.startswith("@every "):
        raise _Malformed(f"unrecognized descriptor: {text}")
    duration = text.removeprefix("@every ")
    if not _DURATION.fullmatch(duration):
        raise _Malformed(f'failed to parse duration {text}: time: invalid duration "{duration}"')


def _check_range(field: Field, expression: str) -> None:
    span, *steps = expression.split("/")
    first, *rest = span.split("-")
    if first in ("*", "?"):
        start, end = field.low, field.high
    else:
        start = field.number(first)
        if len(rest) > 1:
            raise _Malformed(f"too many hyphens: {expression}")
        end = field.number(rest[0]) if rest else start
    if len(steps) > 1:
        raise _Malformed(f"too many slashes: {expression}")
    step = _integer(steps[0]) if steps else 1
    if steps and not rest:
        end = field.high
    _check_bounds(field, expression, start, end)
    if step == 0:
        raise _Malformed(f"step of range should be a positive number: {expression}")


def _check_bounds(field: Field, expression: str, start: int, end: int) -> None:
    if start < field.low:
        raise _Malformed(f"beginning of range ({start}) below minimum ({field.low}): {expression}")
    if end > field.high:
        raise _Malformed(f"end of range ({end}) above maximum ({field.high}): {expression}")
    if start > end:
        raise _Malformed(f"beginning of range ({start}) beyond end of range ({end}): {expression}")


def _integer(text: str) -> int:
    if not re.fullmatch(r"[+-]?\d+", text):
        raise _Malformed(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if int(text) < 0:
        raise _Malformed(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)
