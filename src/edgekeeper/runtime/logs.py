"""The log of a process: one handler of the standard library's `logging` that renders JSON or text, without secrets.

Modules use `get_logger(__name__)` of `core.log` and know nothing of this one. `configure` installs the handler: JSON for
machines (the default in a cluster) or text for people (on a terminal), from a level on. Lines that libraries log are
rendered by the same handler. Other handlers may be installed beside it.

    configure(format="text", level="info")
    with about(level="debug", kind="Widget", namespace="team-a", name="shop", reconcile_id="6f1c…"):
        log.debug("Read remote object", etag=etag)      # shown, and tells which object it is about
        log.info(COMPLETED, changes=[("spec.size", 1, 2)])

`about` holds for everything that runs inside it, in functions and tasks started there too; so every line of an object's
work carries its name, and an object may ask for a level of its own.

`LOG_FORMAT`, `LOG_COLOR` and `LOG_LEVEL` mean the same as the parameters, which win. `NO_COLOR` and `FORCE_COLOR` are
honoured where colour is `auto`.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, TextIO

from edgekeeper.core.clock import Clock, SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.log import LEVELS, ROOT, Fields, Scope, scope, threshold
from edgekeeper.core.logline import (
    COMPLETED,
    FAILED,
    STARTED,
    clean_message,
    clean_within,
    render_json,
    render_text,
)

__all__ = ["COMPLETED", "FAILED", "LEVELS", "STARTED", "about", "configure", "parse_level", "set_level"]

Format = Literal["json", "text"]
Colour = Literal["auto", "always", "never"]

_NAMES = {number: name for name, number in LEVELS.items()}
_ALIASES = {"warn": "warning", "fatal": "critical"}


def configure(
    *,
    format: Format | None = None,  # noqa: A002 - the word of the flag
    color: Colour | None = None,
    level: str | None = None,
    stream: TextIO | None = None,
    clock: Clock | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Install the handler, in place of an earlier one. Raise ValueError for a word that is not known."""
    stream = sys.stderr if stream is None else stream
    lowest = parse_level(level or environ.get("LOG_LEVEL") or "info")
    shape = _one_of(
        "log format", format or environ.get("LOG_FORMAT") or _usual_format(stream, environ), "json", "text"
    )
    colour = _one_of("log color", color or environ.get("LOG_COLOR") or "auto", "auto", "always", "never")
    paint = colour == "always" or (colour == "auto" and _wants_colour(stream, environ))
    render = partial(render_text, colour=paint) if shape == "text" else render_json
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _Handler)]:
        root.removeHandler(handler)
    root.addHandler(_Handler(render, stream, clock or SystemClock()))
    _apply_level(lowest)
    logging.captureWarnings(capture=True)


def set_level(level: str) -> None:
    """Log from this level on, and leave everything else as `configure` decided. Raise ValueError for one not known."""
    _apply_level(parse_level(level))


def _apply_level(lowest: int) -> None:
    ROOT.setLevel(lowest)
    # Libraries log whole requests at debug level. Ours log what is needed, without secrets.
    logging.getLogger().setLevel(max(lowest, logging.INFO))


@contextmanager
def about(*, level: str | None = None, **fields: Any) -> Iterator[None]:
    """Add fields to all lines within, and log them from `level` on, if it is given.

    The level may come from an object that a user wrote, so one that is not known is ignored.
    """
    lowest = LEVELS.get(_canonical(level)) if level else None
    inner = scope.set(Scope(scope.get(), fields))
    override = threshold.set(threshold.get() if lowest is None else lowest)
    try:
        yield
    finally:
        threshold.reset(override)
        scope.reset(inner)


def parse_level(text: str) -> int:
    """The level that a word means, as numbers of the standard library."""
    return LEVELS[_one_of("log level", _canonical(text), *LEVELS)]


class _Handler(logging.Handler):
    """Renders records of ours and of libraries, one write per line, so that lines of several threads do not mix."""

    def __init__(self, render: Callable[[JsonObject], str], stream: TextIO, clock: Clock) -> None:
        super().__init__()
        self._render = render
        self._stream = stream
        self._clock = clock

    def emit(self, record: logging.LogRecord) -> None:
        """Never raises: a caller must not fail because it logged something."""
        try:
            self._stream.write(f"{self._line(record)}\n")
            self._stream.flush()
        except (OSError, ValueError):
            return  # the stream is closed, and there is nowhere else to say so

    def _line(self, record: logging.LogRecord) -> str:
        head: JsonObject = {
            "ts": self._clock.now(),
            "level": _NAMES.get(record.levelno, "info"),
            "logger": record.name,
            "msg": clean_message(_message(record)),
        }
        try:
            return self._render({**head, **_fields(record)})
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a line, it is not lost
            return self._render({**head, "msg": "Cannot render log line", "error": type(error).__name__})


def _fields(record: logging.LogRecord) -> JsonObject:
    """What a record is about. Records of libraries have an exception at most, and belong to the scope all the same."""
    fields = getattr(record, "fields", None)
    if isinstance(fields, Fields):
        return fields
    return clean_within(scope.get().fields, {"exc_info": record.exc_info})


def _message(record: logging.LogRecord) -> str:
    """The message of a record. Where its arguments do not fit its format, the format alone."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - the mistake is a library's, and its arguments may be secret
        return str(record.msg)


def _usual_format(stream: TextIO, environ: Mapping[str, str]) -> str:
    in_cluster = "KUBERNETES_SERVICE_HOST" in environ
    return "text" if stream.isatty() and not in_cluster else "json"


def _wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """As https://no-color.org asks."""
    if environ.get("NO_COLOR"):
        return False
    return bool(environ.get("FORCE_COLOR")) or (stream.isatty() and environ.get("TERM") != "dumb")


def _canonical(level: str) -> str:
    word = str(level).strip().lower()
    return _ALIASES.get(word, word)


def _one_of(what: str, word: str, *known: str) -> str:
    if word.lower() not in known:
        raise ValueError(f"unknown {what} {word!r}, known are {', '.join(known)}")
    return word.lower()
