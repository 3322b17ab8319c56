"""Decides about colour and interactive output.

Colour is used on a terminal, or as `NO_COLOR` and `FORCE_COLOR` set it, which also works for pipes. Interactive output (a
table that is updated in place, a server that runs until Ctrl-C) requires a terminal, independent of these variables.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def wants_colour(stream: TextIO) -> bool:
    """Whether to use colour, by https://no-color.org: an empty variable counts as unset, `NO_COLOR` takes precedence."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_interactive(stream) and os.environ.get("TERM") != "dumb"


def is_interactive(stream: TextIO) -> bool:
    return stream.isatty()


def open_console(stream: TextIO) -> Console:
    """A console that writes to `stream`, without escape sequences if colour is off."""
    from rich.console import Console  # noqa: PLC0415 - most commands need no console, and it is large

    colour = wants_colour(stream)
    return Console(
        file=stream,
        force_terminal=colour or is_interactive(stream),
        color_system="standard" if colour else None,
        highlight=False,
        soft_wrap=not is_interactive(stream),
    )
