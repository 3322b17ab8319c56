"""Durations on the command line, in the format of kubectl: `90s`, `5m`, `1h30m`."""

from __future__ import annotations

import re
from datetime import timedelta

import click

_FORM = re.compile(
    r"(?=\d)"
    r"(?:(?P<hours>\d+(?:\.\d+)?)h)?"
    r"(?:(?P<minutes>\d+(?:\.\d+)?)m(?!s))?"
    r"(?:(?P<seconds>\d+(?:\.\d+)?)s)?"
    r"(?:(?P<milliseconds>\d+(?:\.\d+)?)ms)?"
)


class Duration(click.ParamType[timedelta]):
    """Converts to `timedelta`. A number without a unit is refused."""

    name = "duration"

    def convert(
        self, value: str | timedelta, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        if isinstance(value, timedelta):
            return value
        match = _FORM.fullmatch(value)
        if not match:
            self.fail(f"{value!r} is not a duration such as 30s, 5m or 1h", param, ctx)
        return timedelta(**{unit: float(amount) for unit, amount in match.groupdict().items() if amount})
