"""Durations on the command line: `90s`, `5m`, `1h`, as kubectl writes them."""

from __future__ import annotations

import re
from datetime import timedelta

import click

_FORM = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours"}


class Duration(click.ParamType[timedelta]):
    """Converts to `timedelta`; a bare number is refused, because nobody knows its unit."""

    name = "duration"

    def convert(
        self, value: str | timedelta, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        if isinstance(value, timedelta):
            return value
        match = _FORM.fullmatch(value)
        if not match:
            self.fail(f"{value!r} is not a duration such as 30s, 5m or 1h", param, ctx)
        amount, unit = match.groups()
        return timedelta(**{_UNITS[unit]: float(amount)})
