"""The log of a process: one handler of the standard library's `logging` that renders JSON or text, without secrets.

Modules use `get_logger(__name__)` of `core.log` and do not import this one. `configure` installs the handler, which
writes JSON (the default in a cluster) or text (the default on a terminal). Records of libraries are rendered by the
same handler. Other handlers may be installed beside it.

    configure(format="text", level="info")
    with about(level="debug", kind="Widget", namespace="team-a", name="shop", reconcile_id="6f1c…"):
        log.debug("Read remote object", etag=etag)      # shown, with the fields of the object
        log.info(COMPLETED, changes=[("spec.size", 1, 2)])

`about` applies to everything that runs inside it, including tasks started there, so every line of a pass carries the
name of the object, and an object may have a log level of its own.

`LOG_FORMAT`, `LOG_COLOR` and `LOG_LEVEL` are the defaults of the parameters. `NO_COLOR` and `FORCE_COLOR` are honoured
if colour is `auto`.
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
    format: Format | None = None,  # noqa: A002 - named like the flag
    color: Colour | None = None,
    level: str | None = None,
    stream: TextIO | None = None,
    clock: Clock | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Install the handler, in place of an earlier one. Raise ValueError for an unknown format, color or level."""
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
    """Change the level, and nothing else that `configure` has set. Raise ValueError for an unknown level."""
    _apply_level(parse_level(level))


def _apply_level(lowest: int) -> None:
    ROOT.setLevel(lowest)
    # Libraries log whole requests, with secrets, at debug level, so their records are shown from info on only.
    logging.getLogger().setLevel(max(lowest, logging.INFO))


@contextmanager
def about(*, level: str | None = None, **fields: Any) -> Iterator[None]:
    """Add fields to all lines logged inside the context, and set their level if `level` is given.

    The level may come from a user's object, so an unknown one is ignored.
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
    """The number of a level in the standard library, by its name. Raise ValueError for an unknown one."""
    return LEVELS[_one_of("log level", _canonical(text), *LEVELS)]


class _Handler(logging.Handler):
    """Renders the records of edgekeeper and of libraries, one write per line, so that threads do not mix lines."""

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
            return  # the stream is closed, and there is nowhere else to report it

    def _line(self, record: logging.LogRecord) -> str:
        head: JsonObject = {
            "ts": self._clock.now(),
            "level": _NAMES.get(record.levelno, "info"),
            "logger": record.name,
            "msg": clean_message(_message(record)),
        }
        try:
            return self._render({**head, **_fields(record)})
        except Exception as error:  # noqa: BLE001 - a line that cannot be rendered must not be lost
            return self._render({**head, "msg": "Cannot render log line", "error": type(error).__name__})


def _fields(record: logging.LogRecord) -> JsonObject:
    """The fields of a record. Records of libraries get the fields of the scope, and their exception if any."""
    fields = getattr(record, "fields", None)
    if isinstance(fields, Fields):
        return fields
    return clean_within(scope.get().fields, {"exc_info": record.exc_info})


def _message(record: logging.LogRecord) -> str:
    """The message of a record; if its arguments do not fit its format, the format alone."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - a bug in a library, whose arguments may be secret
        return str(record.msg)


def _usual_format(stream: TextIO, environ: Mapping[str, str]) -> str:
    in_cluster = "KUBERNETES_SERVICE_HOST" in environ
    return "text" if stream.isatty() and not in_cluster else "json"


def _wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to use colour, by the rules of https://no-color.org."""
    if environ.get("NO_COLOR"):
        return False
    return bool(environ.get("FORCE_COLOR")) or (stream.isatty() and environ.get("TERM") != "dumb")


def _canonical(level: str) -> str:
    word = str(level).strip().lower()
    return _ALIASES.get(word, word)


def _one_of(what: str, word: str, *allowed: str) -> str:
    if word.lower() not in allowed:
        raise ValueError(f"unknown {what} {word!r}, known are {', '.join(allowed)}")
    return word.lower()
