"""What kind of screen we write to: colour only on a terminal, or as `NO_COLOR` and `FORCE_COLOR` say.

Two questions are kept apart. *Colour* may be forced into a pipe; *interactive* output (a table that is redrawn in
place, a server that stays up for the person watching it) needs a real terminal, whatever the environment says.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def wants_colour(stream: TextIO) -> bool:
    """Decide as https://no-color.org asks: an empty variable counts as unset, `NO_COLOR` wins."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_interactive(stream) and os.environ.get("TERM") != "dumb"


def is_interactive(stream: TextIO) -> bool:
    return stream.isatty()


def open_console(stream: TextIO) -> Console:
    """A console that writes to `stream`, without any escape sequence where colour is not wanted."""
    from rich.console import Console  # noqa: PLC0415 - most commands need no console, and it is large

    colour = wants_colour(stream)
    return Console(
        file=stream,
        force_terminal=colour or is_interactive(stream),
        color_system="standard" if colour else None,
        highlight=False,
        soft_wrap=not is_interactive(stream),
    )
