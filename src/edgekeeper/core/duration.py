"""Durations as people read and write them: `1h`, `1m30s`, `2.5s`, `200ms`, as in Go and on the command line.

Every duration in a message, an event, a condition or a log line of ours has this form.
"""

from __future__ import annotations

from datetime import timedelta


def format_duration(duration: timedelta) -> str:
    """The duration in short: milliseconds below a second, tenths below ten seconds, whole seconds from there on."""
    if duration < timedelta():
        return f"-{format_duration(-duration)}"
    seconds = duration.total_seconds()
    milliseconds = round(seconds * 1000)
    if 0 < milliseconds < 1000:
        return f"{milliseconds}ms"
    if seconds < 10:
        return f"{round(seconds, 1):g}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return "".join(
        f"{amount}{unit}" for amount, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if amount
    )
