"""Tables as kubectl prints them: columns as wide as their content, headings in capitals, no lines between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rich.console import Console
from rich.text import Text

_GAP = "   "


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, and its style on a terminal."""

    text: str
    style: str = ""


class Columns:
    """Prints rows below headings. The widths are those of the first rows; longer texts later move the rest of their line."""

    def __init__(self, console: Console, headings: Sequence[str]) -> None:
        self._console = console
        self._headings = headings
        self._widths: list[int] = []

    def print(self, rows: Iterable[Sequence[Cell]]) -> None:
        """Print rows, below the headings if they are the first ones."""
        listed = list(rows)
        if not self._widths:
            table = [[len(cell.text) for cell in row] for row in listed]
            self._widths = [max(column) for column in zip(*table, [*map(len, self._headings)], strict=True)]
            self._line([Cell(heading, "bold") for heading in self._headings])
        for row in listed:
            self._line(row)

    def _line(self, row: Sequence[Cell]) -> None:
        line = Text()
        for cell, width in zip(row, self._widths, strict=True):
            line.append(cell.text.ljust(width), cell.style).append(_GAP)
        line.rstrip()
        self._console.print(line, soft_wrap=True)


def short_duration(duration: timedelta) -> str:
    """As kubectl shows ages: the largest unit that says enough."""
    seconds = int(duration.total_seconds())
    if seconds < 120:
        return f"{seconds}s"
    if seconds < 2 * 3600:
        return f"{seconds // 60}m"
    return f"{seconds // 3600}h" if seconds < 48 * 3600 else f"{seconds // 86400}d"


def short_age(since: datetime | None, now: datetime) -> str:
    return "" if since is None else short_duration(max(now - since, timedelta()))


def short_deadline(until: datetime | None, now: datetime) -> str:
    """How long is left until a moment, or how long ago it was."""
    if until is None:
        return ""
    left = until - now
    return f"in {short_duration(left)}" if left >= timedelta() else f"{short_duration(-left)} overdue"
