"""Shows the progress of applied objects: a table that is updated in place on a terminal, else a line per change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from edgekeeper.cli.applying import Observer, Tracked
from edgekeeper.cli.readiness import age

READY_STYLE = {True: "green", False: "yellow"}


@contextmanager
def show_progress(console: Console, *, interactive: bool) -> Iterator[Observer]:
    """An observer that prints the progress to `console`."""
    if not interactive:
        yield LineReport(console).update
        return
    console.print()
    with Live(console=console, auto_refresh=False) as live:
        yield lambda tracked: live.update(progress_table(tracked, datetime.now(UTC)), refresh=True)
    console.print()


class LineReport:
    """Prints a line whenever the state of an object changes, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last_lines: dict[str, str] = {}

    def update(self, tracked: Sequence[Tracked]) -> None:
        for item in tracked:
            if item.body is None:
                continue
            ready = item.readiness.ready
            line = Text.assemble(("ready    " if ready else "waiting  ", READY_STYLE[ready]), str(item))
            if self._last_lines.get(item.path) != line.plain:
                self._last_lines[item.path] = line.plain
                self._console.print(line)


def progress_table(tracked: Sequence[Tracked], now: datetime) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("KIND", "NAME", "READY", "REASON", "AGE"):
        # On a narrow terminal, names and reasons are shortened or wrapped, the other columns are not.
        table.add_column(column, no_wrap=column not in {"NAME", "REASON"}, overflow="ellipsis")
    for item in tracked:
        readiness = item.readiness
        table.add_row(
            item.manifest.kind,
            item.label,
            Text(str(readiness.ready), READY_STYLE[readiness.ready]),
            readiness.reason,
            format_age(age(item.body, now)) if item.body else "",
        )
    return table


def format_age(duration: timedelta | None) -> str:
    """Round as kubectl does for young objects: whole seconds, then minutes."""
    if duration is None:
        return ""
    seconds = int(duration.total_seconds())
    return f"{seconds}s" if seconds < 120 else f"{seconds // 60}m"
