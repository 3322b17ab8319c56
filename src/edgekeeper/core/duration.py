"""Formats durations as Go does: `1h`, `1m30s`, `2.5s`, `200ms`.

All durations in messages, events, conditions and log lines have this form.
"""

from __future__ import annotations

from datetime import timedelta


def format_duration(duration: timedelta) -> str:
    """The duration, rounded: to milliseconds below a second, tenths below ten seconds, else whole seconds."""
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
