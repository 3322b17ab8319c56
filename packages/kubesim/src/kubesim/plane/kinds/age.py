"""How long ago: ages as `kubectl get` shows them.

Cells are computed from an object alone. A cell that depends on the current time is a `Since` value, and becomes text
when the table is rendered, where the clock is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

MINUTE, HOUR, DAY, YEAR = 60, 3_600, 86_400, 31_536_000
UNKNOWN, INVALID = "<unknown>", "<invalid>"


def human_duration(seconds: float) -> str:
    """Say a duration with two or three significant digits: `45s`, `3m20s`, `17h`, `2d4h`, `3y12d`."""
    whole = int(seconds)
    if whole < -1:
        return INVALID  # further in the future than clocks usually differ
    if whole < 2 * MINUTE:
        return f"{max(whole, 0)}s"
    if whole < 10 * MINUTE:
        return _two(whole, MINUTE, "m", 1, "s")
    if whole < 3 * HOUR:
        return f"{whole // MINUTE}m"
    if whole < 8 * HOUR:
        return _two(whole, HOUR, "h", MINUTE, "m")
    if whole < 2 * DAY:
        return f"{whole // HOUR}h"
    if whole < 8 * DAY:
        return _two(whole, DAY, "d", HOUR, "h")
    if whole < 2 * YEAR:
        return f"{whole // DAY}d"
    if whole < 8 * YEAR:
        return _two(whole, YEAR, "y", DAY, "d")
    return f"{whole // YEAR}y"


def _two(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    head = f"{seconds // large}{large_unit}"
    return f"{head}{rest}{small_unit}" if rest else head


def parse_moment(text: Any) -> datetime | None:
    """Read an RFC 3339 time; None where it is none."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Since:
    """A cell that says how long ago `moment` was; `form` puts the age into a longer text."""

    moment: str | None
    form: str = "{}"

    def render(self, now: datetime) -> str:
        if not self.moment:
            return self.form.format(UNKNOWN)
        moment = parse_moment(self.moment)
        age = human_duration((now - moment).total_seconds()) if moment else INVALID
        return self.form.format(age)


def render_cell(cell: Any, now: datetime) -> Any:
    """Turn a cell into what the table carries: an age into text, anything else as it is."""
    return cell.render(now) if isinstance(cell, Since) else cell
